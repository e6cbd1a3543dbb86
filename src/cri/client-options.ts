/** CRI's message size limit, for example for lists and the output of ExecSync. */
const maxMessageBytes = 16 * 1_024 * 1_024;

/** Options of grpc-js for sockets of runtimes. */
export const clientOptions = {
  "grpc.max_receive_message_length": maxMessageBytes,
  "grpc.max_send_message_length": maxMessageBytes,
  // Reconnects quickly to a runtime that was just started or restarted.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 3_000,
};

/** Converts an endpoint into a grpc-js address. */
export function socketAddress(endpoint: string): string {
  const path = endpoint.replace(/^unix:(\/\/)?/, "");
  if (!path.startsWith("/"))
    throw new Error(`${endpoint} is not a unix socket; write unix:///path/to/socket`);
  return `unix:${path}`;
}
