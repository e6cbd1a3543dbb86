import { describe, expect, test } from "vitest";
import { StatusError } from "../../api/meta/status-error.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createScriptedTransport, type ScriptedResponse } from "../transport/transport.fixture.ts";
import { TransportError } from "../transport/transport.ts";
import type { Client } from "./client.ts";
import { createClient } from "./create-client.ts";

const key = { namespace: "ns", name: "a" };
const pod = { apiVersion: "v1", kind: "Pod", metadata: key };
const list = { kind: "PodList", metadata: { resourceVersion: "5" }, items: [] };

describe("a client's requests", () => {
  test.each<[string, (client: Client) => Promise<unknown>, ScriptedResponse?]>([
    ["GET /api/v1/namespaces/ns/pods/a", (client) => client.get("pods", key)],
    ["GET /api/v1/nodes/n", (client) => client.get("nodes", { name: "n" })],
    ["GET /api/v1/namespaces/ns/events/a", (client) => client.get("events", key)],
    ["GET /api/v1/pods", (client) => client.list("pods"), { body: list }],
    [
      "GET /api/v1/namespaces/ns/pods?labelSelector=a%3Db&limit=2&continue=c",
      (client) => client.list("pods", { namespace: "ns", labelSelector: "a=b", limit: 2, continue: "c" }),
      { body: list },
    ],
    [
      "GET /apis/apps/v1/statefulsets?resourceVersion=7&resourceVersionMatch=NotOlderThan",
      (client) => client.list("statefulsets", { resourceVersion: "7", resourceVersionMatch: "NotOlderThan" }),
      { body: list },
    ],
    ["POST /api/v1/namespaces/ns/pods", (client) => client.create("pods", pod)],
    [
      "PUT /api/v1/namespaces/ns/pods/a/status",
      (client) => client.update("pods", pod, { subresource: "status" }),
    ],
    [
      "PATCH /apis/coordination.k8s.io/v1/namespaces/ns/leases/a",
      (client) => client.patch("leases", key, { patch: { kind: "merge", body: {} } }),
    ],
    [
      "DELETE /api/v1/namespaces/ns/pods/a",
      (client) => client.delete("pods", key, { gracePeriodSeconds: 0 }),
    ],
    [
      "DELETE /api/v1/namespaces/ns/pods?labelSelector=x",
      (client) => client.deleteCollection("pods", { namespace: "ns", labelSelector: "x" }),
    ],
    ["POST /apis/x", (client) => client.request("POST", "/apis/x", { body: {} })],
    [
      "GET /api/v1/namespaces/a%2F..%2Fb/pods/..%2F",
      (client) => client.get("pods", { namespace: "a/../b", name: "../" }),
    ],
  ])("%s", async (expected, act, answer = {}) => {
    const { transport, requests } = createScriptedTransport(() => answer);
    await act(createClient({ transport, userAgent: "me" }));
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([expected]);
    expect(requests[0]?.headers).toMatchObject({ accept: "application/json", "user-agent": "me" });
  });

  test("set the patch media type, the object's kind and the delete options", async () => {
    const { transport, requests } = createScriptedTransport(() => ({}));
    const client = createClient({ transport });
    await client.patch("pods", key, { patch: { kind: "json", body: [] }, subresource: "status" });
    await client.create("pods", { ...pod, kind: "", apiVersion: "" });
    await client.delete("pods", key, { gracePeriodSeconds: 0, preconditions: { uid: "u" } });
    expect(requests[0]?.headers["content-type"]).toBe("application/json-patch+json");
    expect(JSON.parse(requests[1]?.body ?? "")).toEqual(pod);
    expect(JSON.parse(requests[2]?.body ?? "")).toEqual({
      kind: "DeleteOptions",
      apiVersion: "v1",
      gracePeriodSeconds: 0,
      preconditions: { uid: "u" },
    });
  });

  test("without a name or namespace are not sent", async () => {
    const { transport, requests } = createScriptedTransport(() => ({}));
    const client = createClient({ transport });
    await expect(client.get("pods", { name: "a" })).rejects.toThrow("metadata.namespace of a Pod is not set");
    await expect(client.get("nodes", { name: "" })).rejects.toThrow("metadata.name of a Node is not set");
    expect(requests).toEqual([]);
  });
});

describe("a client's responses", () => {
  const fail = async (answer: ScriptedResponse) => {
    const { transport } = createScriptedTransport(() => answer);
    return createClient({ transport })
      .get("pods", key)
      .catch((error: unknown) => error);
  };
  const status = (fields: object) => ({ kind: "Status", apiVersion: "v1", status: "Failure", ...fields });

  test.each<[string, ScriptedResponse, Partial<StatusError>]>([
    [
      "a Status",
      {
        status: 409,
        body: status({ code: 409, reason: "AlreadyExists", message: "there", details: { name: "a" } }),
      },
      { code: 409, reason: "AlreadyExists", message: "there", details: { name: "a" } },
    ],
    [
      "a Status with an unknown reason",
      { status: 500, body: status({ code: 500, reason: "ServerTimeout", message: "slow" }) },
      { code: 500, reason: "InternalError", message: "slow" },
    ],
    [
      "a Status with only a code",
      { status: 403, body: status({}) },
      { code: 403, reason: "Forbidden", message: "the server does not allow the request" },
    ],
    [
      "an error page of a proxy",
      { status: 503, body: "<html>upstream gone</html>" },
      {
        code: 503,
        reason: "ServiceUnavailable",
        message:
          'the server is currently unable to handle the request (GET /api/v1/namespaces/ns/pods/a): "<html>upstream gone</html>"',
      },
    ],
    ["other JSON", { status: 404, body: { error: "x" } }, { code: 404, reason: "NotFound" }],
    ["an unknown status code", { status: 418, body: "" }, { code: 418, reason: "BadRequest" }],
    ["a redirect", { status: 302, body: "" }, { code: 302, reason: "InternalError" }],
  ])("are parsed from %s", async (_, answer, expected) => {
    const error = await fail(answer);
    expect(error).toBeInstanceOf(StatusError);
    expect(error).toMatchObject(expected);
  });

  test("that are malformed throw a TransportError", async () => {
    expect(await fail({ body: "not json" })).toBeInstanceOf(TransportError);
    const { transport } = createScriptedTransport(() => ({ body: { items: [] } }));
    await expect(createClient({ transport }).list("pods")).rejects.toThrow(
      "list of pods has no resourceVersion",
    );
  });

  test("with Retry-After are retried for every verb, up to a limit", async () => {
    const clock = createManualClock();
    let refusals = 2;
    const { transport, requests } = createScriptedTransport(() =>
      refusals-- > 0 ? { status: 429, headers: { "retry-after": "3" }, body: "later" } : { body: pod },
    );
    const client = createClient({ transport, clock });
    const created = client.create("pods", pod);
    await clock.advance(2_999);
    expect(requests).toHaveLength(1);
    await clock.advance(3_001);
    expect(await created).toEqual(pod);
    expect(requests).toHaveLength(3);

    refusals = 100;
    const refused = client.create("pods", pod).catch((error: unknown) => error);
    await clock.advance(60_000);
    expect(await refused).toMatchObject({ code: 429, reason: "TooManyRequests" });
    expect(requests).toHaveLength(3 + 6);
  });

  test("with 429 and no Retry-After are thrown", async () => {
    expect(await fail({ status: 429, body: "" })).toMatchObject({ code: 429 });
    expect(await fail({ status: 503, headers: { "retry-after": "1" }, body: "" })).toMatchObject({
      code: 503,
    });
  });
});

describe("a client's watch", () => {
  const lines = (...events: object[]) => [
    Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join("")),
  ];
  const read = async (chunks: Iterable<Uint8Array>) => {
    const { transport, requests } = createScriptedTransport(() => ({ chunks }));
    const seen: unknown[] = [];
    const watch = createClient({ transport }).watch("pods", {
      resourceVersion: "3",
      namespace: "ns",
      timeoutSeconds: 9,
    });
    const ended = (async () => {
      for await (const event of watch) seen.push(event);
    })();
    const error = await ended.catch((reason: unknown) => reason);
    return { seen, error, path: requests[0]?.path, longLived: requests[0]?.longLived };
  };
  const object = { metadata: { name: "a", resourceVersion: "4" } };

  test("yields events and bookmarks, and ignores unknown types", async () => {
    const bookmark = { type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } };
    const { seen, error, path, longLived } = await read(
      lines({ type: "ADDED", object }, { type: "SPARKLED", object }, bookmark),
    );
    expect(error).toBeUndefined();
    expect(seen).toEqual([
      { type: "ADDED", object },
      { type: "BOOKMARK", resourceVersion: "9" },
    ]);
    expect(path).toBe(
      "/api/v1/namespaces/ns/pods?watch=true&allowWatchBookmarks=true&resourceVersion=3&timeoutSeconds=9",
    );
    expect(longLived).toBe(true);
  });

  test("throws the Status of an ERROR event", async () => {
    const expired = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
    const { seen, error } = await read(lines({ type: "ADDED", object }, { type: "ERROR", object: expired }));
    expect(seen).toHaveLength(1);
    expect(error).toBeInstanceOf(StatusError);
    expect(error).toMatchObject({ code: 410, reason: "Expired", message: "too old" });
  });

  test.each([
    ["a truncated event", Buffer.from('{"type":"ADD')],
    ["invalid JSON", Buffer.from("nonsense\n")],
    ["an object without a resourceVersion", Buffer.from('{"type":"ADDED","object":{}}\n')],
  ])("fails on %s", async (_, chunk) => {
    expect((await read([chunk])).error).toBeInstanceOf(TransportError);
  });
});
