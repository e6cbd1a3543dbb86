/**
 * Minimal HTTPS server that keeps every response open after the headers and BYTES bytes: the lower bound of an idle watch's memory in
 * a Node process. bench/api.ts starts it as a separate process: open-response-server PKI-DIR BYTES.
 */
import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

const [pkiDir = "", bytes = "0"] = process.argv.slice(2);
const body = Buffer.alloc(Number(bytes), "x");
const sliceBytes = 16 * 1_024;

function send(response: ServerResponse, from: number): void {
  for (let at = from; at < body.length; at += sliceBytes) {
    if (response.write(body.subarray(at, at + sliceBytes))) continue;
    response.once("drain", () => send(response, at + sliceBytes));
    return;
  }
}

const server = createServer(
  { cert: readFileSync(join(pkiDir, "apiserver.crt")), key: readFileSync(join(pkiDir, "apiserver.key")) },
  (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    send(response, 0);
  },
);
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  console.log(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
