// A tasks server of npm @modelcontextprotocol/sdk 1.x (revision 2025-11-25) with the suite's control tools.
//
// `npm ci && node server.mjs` serves Streamable HTTP on a free port of loopback, prints the URL and runs
// until it is ended. Tasks are the SDK's own: McpServer with InMemoryTaskStore and InMemoryTaskMessageQueue
// answers tasks/*, registerToolTask makes tasks, `sendRequest` with `relatedTask` asks. The tools add no
// behaviour: the work of a task does as task_step tells it, also after the task was cancelled, since the SDK
// does not stop it. There is no task_open_optional: called without a task, the SDK would make one all the
// same and wait for its end, and nothing tells the tool that this is so.

import { randomUUID } from "node:crypto";
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CreateMessageResultSchema, ElicitResultSchema, isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const POLL_MS = 100; // tasks/result looks at the task that often, too
const A_DAY_MS = 86_400_000; // the SDK gives up after a minute otherwise

const store = new InMemoryTaskStore();
const queue = new InMemoryTaskMessageQueue();
/** What runs behind each task: { extra, answers, asking, over }, by its id. */
const works = new Map();

/** One server for one session, as the SDK wants it; store and queue are shared. */
function makeServer() {
  const server = new McpServer(
    { name: "interop-typescript", version: "1.0.0" },
    {
      capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
      taskStore: store,
      taskMessageQueue: queue,
    },
  );
  server.experimental.tasks.registerToolTask(
    "task_open",
    { description: "Open a task that works until it is told otherwise", execution: { taskSupport: "required" } },
    {
      async createTask(extra) {
        const task = await extra.taskStore.createTask({ ttl: extra.taskRequestedTtl, pollInterval: POLL_MS });
        works.set(task.taskId, { extra, answers: {}, asking: 0, over: false });
        return { task };
      },
      getTask: (extra) => extra.taskStore.getTask(extra.taskId),
      getTaskResult: (extra) => extra.taskStore.getTaskResult(extra.taskId),
    },
  );
  server.registerTool(
    "task_step",
    {
      description: "Tell the work of a task what to do next",
      inputSchema: { taskId: z.string(), step: z.object({ action: z.string() }).loose() },
    },
    async ({ taskId, step }, { sessionId }) => {
      const work = works.get(taskId);
      const task = await store.getTask(taskId, sessionId);
      if (!work || !task) return told({ applied: false });
      const applied = !["completed", "failed", "cancelled"].includes(task.status);
      // Work that has ended by itself does nothing any more; whose task was cancelled learns of it by an exception.
      if (work.over) return told({ applied, answers: work.answers });
      work.over = step.action !== "request_input";
      await STEPS[step.action](taskId, work, step).catch((error) => console.error(`${step.action}: ${error.message}`));
      return told({ applied, answers: work.answers });
    },
  );
  return server;
}

const STEPS = {
  async request_input(taskId, work, { requests }) {
    for (const [key, request] of Object.entries(requests)) {
      work.asking += 1;
      ask(taskId, work, key, request).catch((error) => console.error(`${request.method}: ${error.message}`));
    }
  },
  complete: (taskId, { extra }, { result }) =>
    extra.taskStore.storeTaskResult(taskId, result.isError ? "failed" : "completed", result),
  // The SDK has no place for a JSON-RPC error; this is its only way to fail a task without a result.
  fail: (taskId, { extra }, { error }) => extra.taskStore.updateTaskStatus(taskId, "failed", error.message),
};

/** Send one request to the client, note the result that comes back, and go on working after the last answer. */
async function ask(taskId, work, key, { method, params }) {
  const schema = method === "elicitation/create" ? ElicitResultSchema : CreateMessageResultSchema;
  const options = { relatedTask: { taskId }, timeout: A_DAY_MS };
  try {
    work.answers[key] = await work.extra.sendRequest({ method, params }, schema, options);
  } catch (error) {
    // Refused by the client, or never sent since the task has ended; either way the question is over.
    console.error(`${method}: ${error.message}`);
  }
  work.asking -= 1;
  if (!work.asking && !work.over) await work.extra.taskStore.updateTaskStatus(taskId, "working");
}

const told = (structuredContent) => ({ content: [], structuredContent });

const transports = new Map();
const app = createMcpExpressApp();

app.post("/mcp", async (request, response) => {
  const sessionId = request.headers["mcp-session-id"];
  let transport = transports.get(sessionId);
  if (!transport) {
    if (sessionId) return refused(response, 404, -32001, "Session not found");
    if (!isInitializeRequest(request.body)) return refused(response, 400, -32000, "No session");
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => transports.set(id, transport),
    });
    transport.onclose = () => transports.delete(transport.sessionId);
    await makeServer().connect(transport);
  }
  await transport.handleRequest(request, response, request.body);
});

for (const verb of ["get", "delete"]) {
  app[verb]("/mcp", async (request, response) => {
    const sessionId = request.headers["mcp-session-id"];
    const transport = transports.get(sessionId);
    if (!transport) return refused(response, sessionId ? 404 : 400, -32001, "Session not found");
    await transport.handleRequest(request, response);
  });
}

const refused = (response, status, code, message) =>
  response.status(status).json({ jsonrpc: "2.0", error: { code, message }, id: null });

const listener = app.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${listener.address().port}/mcp`),
);
