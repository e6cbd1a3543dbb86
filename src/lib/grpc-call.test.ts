import {
  Client,
  credentials,
  type handleBidiStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  status,
} from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { callServerStream, callUnary, isGrpcError, openDuplex } from "./grpc-call.ts";

const text = {
  serialize: (value: string) => Buffer.from(value),
  deserialize: (bytes: Buffer) => bytes.toString(),
};
const method = (name: string, stream: { request: boolean; response: boolean }) => ({
  path: `/test.Test/${name}`,
  requestStream: stream.request,
  responseStream: stream.response,
  requestSerialize: text.serialize,
  requestDeserialize: text.deserialize,
  responseSerialize: text.serialize,
  responseDeserialize: text.deserialize,
});
const service = {
  echo: method("Echo", { request: false, response: false }),
  count: method("Count", { request: false, response: true }),
  chat: method("Chat", { request: true, response: true }),
};

let server: Server;
let client: Client;
/** Requests that the server received. */
let asked: string[];
/** Cancellations that the server observed. */
let cancelled: string[];

const echo: handleUnaryCall<string, string> = (call, callback) => {
  asked.push(call.request);
  call.on("cancelled", () => cancelled.push("echo"));
  if (call.request === "fail") callback({ code: status.ABORTED, details: "as asked" });
  else if (call.request !== "hang") callback(null, call.request);
};
/** Counts to the requested number; "3 fail" fails after 3, "3 hang" never ends. */
const count: handleServerStreamingCall<string, string> = (call) => {
  call.on("cancelled", () => cancelled.push("count"));
  const [last = 0, then] = call.request.split(" ");
  for (let i = 1; i <= Number(last); i++) call.write(`${i}`);
  if (then === "fail") call.emit("error", { code: status.ABORTED, details: "as asked" });
  else if (then !== "hang") call.end();
};
const chat: handleBidiStreamingCall<string, string> = (call) => {
  call.on("cancelled", () => cancelled.push("chat"));
  call.on("data", (message) => (message === "bye" ? call.end() : call.write(`re: ${message}`)));
};

beforeEach(async () => {
  asked = [];
  cancelled = [];
  server = new Server();
  server.addService(service, { echo, count, chat });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
});
afterEach(() => {
  client.close();
  server.forceShutdown();
});

describe("callUnary", () => {
  const call = (request: string, options?: { timeoutMs?: number; signal?: AbortSignal }) =>
    callUnary(client, service.echo, { request, timeoutMs: 30_000, ...options });

  test("resolves with the response", async () => {
    expect(await call("hello")).toBe("hello");
  });

  test("rejects with the server's code and details", async () => {
    const error: unknown = await call("fail").catch((error: unknown) => error);
    expect(error).toMatchObject({ code: status.ABORTED, details: "as asked" });
    expect(isGrpcError(error)).toBe(true);
    expect(isGrpcError(error, status.UNAVAILABLE, status.ABORTED)).toBe(true);
    expect(isGrpcError(error, status.UNAVAILABLE)).toBe(false);
    expect(isGrpcError(new Error("other"))).toBe(false);
  });

  test("times out at its deadline", async () => {
    await expect(call("hang", { timeoutMs: 50 })).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
  });

  test("aborting cancels the call, also on the server", async () => {
    const abort = new AbortController();
    const answer = call("hang", { signal: abort.signal });
    answer.catch(() => {});
    await expect.poll(() => asked).toEqual(["hang"]);
    abort.abort(new Error("stopped"));
    await expect(answer).rejects.toThrow("stopped");
    await expect.poll(() => cancelled).toEqual(["echo"]);
    await expect(call("hello", { signal: abort.signal })).rejects.toThrow("stopped");
  });
});

describe("callServerStream", () => {
  const call = (request: string, signal?: AbortSignal) =>
    callServerStream(client, service.count, { request, signal });

  test("yields every message, then ends", async () => {
    expect(await collect(call("100"))).toEqual(Array.from({ length: 100 }, (_, i) => `${i + 1}`));
  });

  test("yields the messages before an error, then throws it", async () => {
    const seen: string[] = [];
    const outcome = collect(call("5 fail"), seen);
    await expect(outcome).rejects.toMatchObject({ code: status.ABORTED, details: "as asked" });
    expect(seen).toEqual(["1", "2", "3", "4", "5"]);
  });

  test("leaving the loop cancels the call", async () => {
    for await (const message of call("3 hang")) if (message === "2") break;
    await expect.poll(() => cancelled).toEqual(["count"]);
  });

  test("aborting ends it with the signal's reason, even before the start", async () => {
    const abort = new AbortController();
    const seen: string[] = [];
    const outcome = collect(call("3 hang", abort.signal), seen);
    outcome.catch(() => {});
    await expect.poll(() => seen).toEqual(["1", "2", "3"]);
    abort.abort(new Error("stopped"));
    await expect(outcome).rejects.toThrow("stopped");
    await expect(collect(call("3", abort.signal))).rejects.toThrow("stopped");
  });
});

describe("openDuplex", () => {
  test("sends messages in both directions until the server ends the call", async () => {
    const call = openDuplex(client, service.chat, {});
    for (const message of ["a", "b", "bye"]) call.send(message);
    expect(await collect(call)).toEqual(["re: a", "re: b"]);
    call.send("too late");
  });

  test("throws when the server becomes unavailable", async () => {
    const call = openDuplex(client, service.chat, {});
    call.send("a");
    await expect(
      (async () => {
        for await (const _message of call) server.forceShutdown();
      })(),
    ).rejects.toSatisfy((error) => isGrpcError(error));
    call.send("too late");
  });

  test("leaving the loop cancels the call", async () => {
    const call = openDuplex(client, service.chat, {});
    call.send("a");
    for await (const _message of call) break;
    await expect.poll(() => cancelled).toEqual(["chat"]);
  });
});

async function collect(messages: AsyncIterable<string>, seen: string[] = []): Promise<string[]> {
  for await (const message of messages) seen.push(message);
  return seen;
}
