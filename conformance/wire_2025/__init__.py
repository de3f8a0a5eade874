"""The wire of protocol 2025-11-25: sessions over Streamable HTTP, messages, and their validation."""
