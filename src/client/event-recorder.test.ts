import { describe, expect, test } from "vitest";
import { StatusError } from "../api/status-error.ts";
import { silentLogger } from "../lib/logger.ts";
import { createManualClock } from "../lib/manual-clock.ts";
import { createClient } from "./create-client.ts";
import { createEventRecorder } from "./event-recorder.ts";
import { createScriptedTransport, type ScriptedAnswer } from "./transport.fixture.ts";
import { TransportError } from "./transport.ts";

const about = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "ns", uid: name },
});
const said = { type: "Normal", reason: "Started", message: "Started container" } as const;

function start(answer: (path: string, method: string) => ScriptedAnswer | Promise<ScriptedAnswer>) {
  const clock = createManualClock(1_000_000);
  const { transport, requests } = createScriptedTransport(({ path, method }) => answer(path, method));
  const recorder = createEventRecorder({
    client: createClient({ transport, clock }),
    component: "kubelet",
    clock,
    logger: silentLogger,
    random: () => 0,
  });
  const stop = new AbortController();
  const running = recorder.run(stop.signal);
  return {
    clock,
    recorder,
    requests,
    names: () => requests.map(({ body }) => JSON.parse(body ?? "{}").metadata?.name),
    async stop() {
      stop.abort();
      await running;
    },
  };
}

describe("an event recorder", () => {
  test("gives events of the same millisecond different names", async () => {
    const { recorder, clock, names, stop } = start(() => ({}));
    for (const message of ["one", "two", "three"]) recorder.record(about("a"), { ...said, message });
    await clock.advance(0);
    expect(new Set(names()).size).toBe(3);
    await stop();
  });

  test("says how long the server takes for an event, also while it does", async () => {
    let answer = (_: ScriptedAnswer) => {};
    const { recorder, clock, stop } = start(() => new Promise((resolve) => (answer = resolve)));
    expect(recorder.writeMs()).toBe(0);
    recorder.record(about("a"), said);
    await clock.advance(300);
    expect(recorder.writeMs()).toBe(300);
    answer({});
    await clock.advance(1_000);
    expect(recorder.writeMs()).toBe(300);
    await stop();
  });

  test("creates an event anew when the one to count up is gone", async () => {
    const { recorder, clock, requests, stop } = start((_, method) =>
      method === "PATCH" ? { status: 404, body: { kind: "Status", code: 404, reason: "NotFound" } } : {},
    );
    recorder.record(about("a"), said);
    recorder.record(about("a"), said);
    await clock.advance(0);
    expect(requests.map(({ method }) => method)).toEqual(["POST", "PATCH", "POST"]);
    expect(JSON.parse(requests[2]?.body ?? "")).toMatchObject({ count: 2 });
    await stop();
  });

  test("writes in order what could not be written for a while", async () => {
    let away = true;
    const { recorder, clock, names, stop } = start(() => {
      if (away) throw new TransportError("away");
      return {};
    });
    recorder.record(about("a"), said);
    recorder.record(about("b"), said);
    await clock.advance(5_000);
    expect(names().every((name) => name.startsWith("a."))).toBe(true);
    away = false;
    await clock.advance(5_000);
    expect(
      names()
        .slice(-2)
        .map((name) => name[0]),
    ).toEqual(["a", "b"]);
    expect(recorder.dropped()).toBe(0);
    await stop();
  });

  test("gives up after twelve tries, and goes on with the next", async () => {
    const { recorder, clock, names, stop } = start((_, method) => {
      if (method === "POST") throw new TransportError("away");
      return {};
    });
    recorder.record(about("a"), said);
    await clock.advance(120_000);
    expect(names()).toHaveLength(12);
    expect(recorder.dropped()).toBe(1);
    recorder.record(about("b"), said);
    await clock.advance(0);
    expect(names().at(-1)).toMatch(/^b\./);
    await stop();
  });

  test.each([
    [403, 1],
    [409, 1],
    [503, 12],
  ])("tries an event that the server answers with %i %i times", async (status, tries) => {
    const { recorder, clock, requests, stop } = start(() => ({
      status,
      body: new StatusError(status, "InternalError", "no").toStatus(),
    }));
    recorder.record(about("a"), said);
    await clock.advance(120_000);
    expect(requests).toHaveLength(tries);
    expect(recorder.dropped()).toBe(1);
    await stop();
  });

  test("drops what comes when a thousand are waiting", () => {
    const { recorder } = start(() => new Promise(() => {}));
    for (let i = 0; i < 1_003; i++) recorder.record(about(`pod-${i}`), said);
    expect(recorder.dropped()).toBe(3);
  });

  test("goes on, when it stops, behind an event that the server refuses", async () => {
    const { recorder, names, stop } = start((path) =>
      path.includes("/gone/")
        ? { status: 403, body: new StatusError(403, "Forbidden", "it goes").toStatus() }
        : {},
    );
    const gone = about("a");
    recorder.record({ ...gone, metadata: { ...gone.metadata, namespace: "gone" } }, said);
    recorder.record(about("b"), said);
    await stop();
    expect(names().map((name) => name[0])).toEqual(["a", "b"]);
    expect(recorder.dropped()).toBe(1);
  });

  test("tries once to write what is left when it stops", async () => {
    let away = true;
    const { recorder, clock, requests, stop } = start(() => {
      if (away) throw new TransportError("away");
      return {};
    });
    recorder.record(about("a"), said);
    recorder.record(about("b"), said);
    await clock.advance(10);
    away = false;
    await stop();
    expect(requests).toHaveLength(3);
    expect(recorder.dropped()).toBe(0);

    const lost = start(() => {
      throw new TransportError("away");
    });
    for (const name of ["a", "b", "c"]) lost.recorder.record(about(name), said);
    await lost.clock.advance(10);
    await lost.stop();
    expect(lost.requests).toHaveLength(2);
    expect(lost.recorder.dropped()).toBe(3);
    expect(lost.clock.sleeping()).toBe(0);
  });
});
