//! A tasks server of rust-mcp-sdk 1.1.0 (revision 2025-11-25) with the suite's control tools.
//!
//! `cargo run` serves Streamable HTTP on a free port of loopback, prints the URL and runs until it is ended.
//! Tasks are the SDK's own: its runtime makes a `TaskCreator` of an augmented call, and its
//! `InMemoryTaskStore` keeps them. The SDK leaves `tasks/*` to the server's author, so the handlers below
//! pass each request on to the method of the store that is made for it, with the error codes of the
//! protocol, and add nothing. The work of a task does as `task_step` tells it, also after the task was
//! cancelled, since the SDK does not stop it. Requests to the client go where the SDK sends them: to the
//! GET stream of the session.

use async_trait::async_trait;
use rust_mcp_axum::{create_axum_server, AxumServerOptions};
use rust_mcp_sdk::error::SdkResult;
use rust_mcp_sdk::mcp_server::{ServerHandler, ToMcpServerHandler};
use rust_mcp_sdk::schema::schema_utils::CallToolError;
use rust_mcp_sdk::schema::*;
use rust_mcp_sdk::task_store::{CreateTaskOptions, InMemoryTaskStore, ServerTaskCreator, ServerTaskStore};
use rust_mcp_sdk::McpServer;
use serde_json::{json, Map, Value};
use std::collections::HashMap;
use std::net::TcpListener;
use std::result::Result;
use std::sync::{Arc, Mutex};

const RELATED: &str = "io.modelcontextprotocol/related-task";
const POLL_MS: i64 = 100;

/// What the work of a task has heard so far, by key, how many answers it still waits for, and whether it has ended.
#[derive(Default)]
struct Work {
    answers: Map<String, Value>,
    asking: usize,
    over: bool,
}

#[derive(Default)]
struct Handler {
    works: Mutex<HashMap<String, Arc<Mutex<Work>>>>,
}

fn store_of(runtime: &Arc<dyn McpServer>) -> Arc<ServerTaskStore> {
    runtime.task_store().expect("a task store is configured")
}

/// A value of the protocol from its JSON form.
fn typed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, CallToolError> {
    serde_json::from_value(value).map_err(CallToolError::new)
}

fn not_found(task_id: &str) -> RpcError {
    RpcError::invalid_params().with_message(format!("Task not found: {task_id}"))
}

fn told(content: Value) -> CallToolResult {
    let mut result = CallToolResult::text_content(vec![]);
    result.structured_content = content.as_object().cloned();
    result
}

impl Handler {
    /// Hand one step to the work of a task of this session.
    async fn step(
        &self,
        task_id: String,
        step: Value,
        runtime: Arc<dyn McpServer>,
    ) -> Result<CallToolResult, CallToolError> {
        let (store, session) = (store_of(&runtime), runtime.session_id());
        let task = store.get_task(&task_id, session.clone()).await;
        let work = self.works.lock().unwrap().get(&task_id).cloned();
        let (Some(task), Some(work)) = (task, work) else {
            return Ok(told(json!({"applied": false})));
        };
        // Work that has ended by itself does nothing any more; whose task was cancelled does not know.
        let action = step["action"].as_str().filter(|_| !work.lock().unwrap().over);
        work.lock().unwrap().over |= action != Some("request_input");
        match action {
            None => (),
            Some("request_input") => {
                let requests = step["requests"].as_object().cloned().unwrap_or_default();
                work.lock().unwrap().asking += requests.len();
                if !requests.is_empty() {
                    store
                        .update_task_status(&task_id, TaskStatus::InputRequired, None, session)
                        .await;
                }
                for (key, request) in requests {
                    tokio::spawn(ask(work.clone(), task_id.clone(), key, request, runtime.clone()));
                }
            }
            Some("complete") => {
                let result: CallToolResult = typed(step["result"].clone())?;
                let status = if result.is_error == Some(true) {
                    TaskStatus::Failed
                } else {
                    TaskStatus::Completed
                };
                store
                    .store_task_result(&task_id, status, result.into(), session.as_ref())
                    .await;
            }
            // The SDK has no place for a JSON-RPC error; this is its only way to fail a task without a result.
            _ => {
                let message = step["error"]["message"].as_str().map(String::from);
                store
                    .update_task_status(&task_id, TaskStatus::Failed, message, session)
                    .await;
            }
        }
        let answers = work.lock().unwrap().answers.clone();
        Ok(told(json!({"applied": !task.status.is_terminal(), "answers": answers})))
    }
}

/// Send one request to the client, note the result that comes back, and go on working after the last answer.
async fn ask(work: Arc<Mutex<Work>>, task_id: String, key: String, request: Value, runtime: Arc<dyn McpServer>) {
    let mut params = request["params"].clone();
    params["_meta"] = json!({RELATED: {"taskId": task_id}});
    let answer = if request["method"] == "elicitation/create" {
        match serde_json::from_value(params) {
            Ok(params) => runtime.request_elicitation(params).await.map(|result| json!(result)),
            Err(error) => Err(RpcError::parse_error().with_message(error.to_string()).into()),
        }
    } else {
        match serde_json::from_value(params) {
            Ok(params) => runtime
                .request_message_creation(params)
                .await
                .map(|result| json!(result)),
            Err(error) => Err(RpcError::parse_error().with_message(error.to_string()).into()),
        }
    };
    let last = {
        let mut work = work.lock().unwrap();
        if let Ok(answer) = answer {
            work.answers.insert(key, answer);
        }
        work.asking -= 1;
        work.asking == 0 && !work.over
    };
    if last {
        store_of(&runtime)
            .update_task_status(&task_id, TaskStatus::Working, None, runtime.session_id())
            .await;
    }
}

#[async_trait]
impl ServerHandler for Handler {
    async fn handle_list_tools_request(
        &self,
        _params: Option<PaginatedRequestParams>,
        _runtime: Arc<dyn McpServer>,
    ) -> Result<ListToolsResult, RpcError> {
        let tool = |name: &str, support: &str| json!({"name": name, "inputSchema": {"type": "object"}, "execution": {"taskSupport": support}});
        let tools = json!({"tools": [
            tool("task_open", "required"),
            tool("task_open_optional", "optional"),
            tool("task_step", "forbidden"),
        ]});
        Ok(serde_json::from_value(tools).expect("tools are well-formed"))
    }

    async fn handle_call_tool_request(
        &self,
        params: CallToolRequestParams,
        runtime: Arc<dyn McpServer>,
    ) -> Result<CallToolResult, CallToolError> {
        let arguments = params.arguments.unwrap_or_default();
        match params.name.as_str() {
            "task_step" => {
                let task_id = typed(arguments.get("taskId").cloned().unwrap_or_default())?;
                self.step(task_id, arguments.get("step").cloned().unwrap_or_default(), runtime)
                    .await
            }
            "task_open_optional" => Ok(CallToolResult::text_content(vec!["done without a task".into()])),
            // The only refusal that this handler can give; the runtime makes a result with isError of it.
            "task_open" => Err(CallToolError::from_message("task_open is only a task")),
            name => Err(CallToolError::unknown_tool(name)),
        }
    }

    async fn handle_task_augmented_tool_call(
        &self,
        params: CallToolRequestParams,
        task_creator: ServerTaskCreator,
        _runtime: Arc<dyn McpServer>,
    ) -> Result<CreateTaskResult, CallToolError> {
        if !params.name.starts_with("task_open") {
            return Err(CallToolError::unsupported_task_augmented_tool_call());
        }
        let ttl = params.task.and_then(|task| task.ttl);
        let options = CreateTaskOptions {
            ttl,
            poll_interval: Some(POLL_MS),
            meta: None,
        };
        let task = task_creator.create_task(options).await;
        self.works.lock().unwrap().insert(task.task_id.clone(), Arc::default());
        Ok(CreateTaskResult { meta: None, task })
    }

    async fn handle_get_task_request(
        &self,
        params: GetTaskParams,
        runtime: Arc<dyn McpServer>,
    ) -> Result<GetTaskResult, RpcError> {
        let task = store_of(&runtime).get_task(&params.task_id, runtime.session_id()).await;
        let task = task.ok_or_else(|| not_found(&params.task_id))?;
        Ok(GetTaskResult {
            created_at: task.created_at,
            last_updated_at: task.last_updated_at,
            meta: None,
            poll_interval: task.poll_interval,
            status: task.status,
            status_message: task.status_message,
            task_id: task.task_id,
            // Here a ttl is a number; there is no null for a task that is kept for ever.
            ttl: task.ttl.unwrap_or_default(),
            extra: None,
        })
    }

    async fn handle_get_task_payload_request(
        &self,
        params: GetTaskPayloadParams,
        runtime: Arc<dyn McpServer>,
    ) -> Result<GetTaskPayloadResult, RpcError> {
        let (store, session) = (store_of(&runtime), runtime.session_id());
        let task = store.get_task(&params.task_id, session.clone()).await;
        let task = task.ok_or_else(|| not_found(&params.task_id))?;
        let result = if task.status.is_terminal() {
            store.get_task_result(&params.task_id, session).await
        } else {
            let waited = store.wait_for_task_result(&params.task_id, session).await;
            waited
                .map_err(|error| RpcError::internal_error().with_message(error.to_string()))?
                .1
        };
        let result = result
            .ok_or_else(|| RpcError::internal_error().with_message(format!("Task {} has no result", params.task_id)))?;
        let mut value = json!(result);
        value["_meta"][RELATED] = json!({"taskId": params.task_id});
        serde_json::from_value(value).map_err(|error| RpcError::internal_error().with_message(error.to_string()))
    }

    async fn handle_cancel_task_request(
        &self,
        params: CancelTaskParams,
        runtime: Arc<dyn McpServer>,
    ) -> Result<CancelTaskResult, RpcError> {
        let (store, session) = (store_of(&runtime), runtime.session_id());
        let task = store.get_task(&params.task_id, session.clone()).await;
        let task = task.ok_or_else(|| not_found(&params.task_id))?;
        if task.status.is_terminal() {
            return Err(RpcError::invalid_params().with_message(format!("Task is already {}", task.status)));
        }
        store
            .update_task_status(&params.task_id, TaskStatus::Cancelled, None, session.clone())
            .await;
        let task = store.get_task(&params.task_id, session).await;
        let task = task.ok_or_else(|| not_found(&params.task_id))?;
        Ok(CancelTaskResult {
            created_at: task.created_at,
            last_updated_at: task.last_updated_at,
            meta: None,
            poll_interval: task.poll_interval,
            status: task.status,
            status_message: task.status_message,
            task_id: task.task_id,
            ttl: task.ttl.unwrap_or_default(),
            extra: None,
        })
    }

    async fn handle_list_task_request(
        &self,
        params: Option<PaginatedRequestParams>,
        runtime: Arc<dyn McpServer>,
    ) -> Result<ListTasksResult, RpcError> {
        let cursor = params.and_then(|params| params.cursor);
        Ok(store_of(&runtime).list_tasks(cursor, runtime.session_id()).await)
    }
}

#[tokio::main]
async fn main() -> SdkResult<()> {
    let details = json!({
        "protocolVersion": "2025-11-25",
        "serverInfo": {"name": "interop-rust", "version": "1.0.0"},
        "capabilities": {"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}},
    });
    // The SDK wants to know the port beforehand, for its check of the Host header.
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|socket| socket.local_addr())
        .map(|address| address.port())?;
    let server = create_axum_server(
        serde_json::from_value(details).expect("details are well-formed"),
        Handler::default().to_mcp_server_handler(),
        AxumServerOptions {
            port,
            task_store: Some(Arc::new(InMemoryTaskStore::new(None))),
            ..Default::default()
        },
    );
    println!("http://127.0.0.1:{port}/mcp");
    server.start().await
}
