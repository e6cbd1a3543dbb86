import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createLogger, silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import type { StartSignal } from "../measure/start-signal.ts";
import { podStart } from "../metrics/pod-start.fixture.ts";
import { createStartMetrics } from "../metrics/start-metrics.ts";
import { createTraceExporter, registerTraceMetrics, type TraceExporterOptions } from "./trace-exporter.ts";

interface Received {
  readonly url: string | undefined;
  readonly contentType: string | undefined;
  readonly token: string | undefined;
  readonly body: unknown;
}

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Starts a collector that responds with these codes, then with 200. */
async function startCollector(...codes: number[]) {
  const received: Received[] = [];
  const server: Server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    const { url, headers } = request;
    received.push({
      url,
      contentType: headers["content-type"],
      token: headers.authorization,
      body: JSON.parse(text),
    });
    response.writeHead(codes.shift() ?? 200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  closing.push(async () => server.closeAllConnections());
  const { port } = server.address() as AddressInfo;
  return { endpoint: `http://127.0.0.1:${port}/v1/traces`, received };
}

function start(options: Pick<TraceExporterOptions, "endpoint"> & Partial<TraceExporterOptions>) {
  const clock = createManualClock(100_000);
  const exporter = createTraceExporter({ clock, logger: silentLogger, ...options });
  const stop = new AbortController();
  const done = exporter.run(stop.signal);
  const end = async () => {
    stop.abort();
    await done;
  };
  closing.push(end);
  /** Advances the clock one second at a time until the condition is true. */
  const until = (condition: () => boolean) =>
    expect
      .poll(
        async () => {
          await clock.advance(1_000);
          return condition();
        },
        { interval: 10 },
      )
      .toBe(true);
  return { exporter, end, until };
}

const ready = (uid: string): StartSignal => ({
  kind: "ready",
  start: podStart({ pod: { uid }, createdMs: 90_000, ends: { scheduling: 91_000, sandbox: 93_000 } }),
  seconds: 5,
  endedMs: 95_000,
});

test("sends a finished start as a trace in OTLP JSON", async () => {
  const { endpoint, received } = await startCollector();
  const { exporter, until } = start({ endpoint, headers: { authorization: "Bearer secret" } });
  exporter.observe(ready("uid-1"));
  await until(() => exporter.counts().sent === 1);
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  expect(received).toMatchObject([
    {
      url: "/v1/traces",
      contentType: "application/json",
      token: "Bearer secret",
      body: {
        resourceSpans: [
          {
            resource: { attributes: [text("service.name", "kindling-monitor")] },
            scopeSpans: [
              {
                scope: { name: "kindling" },
                spans: [
                  {
                    name: "pod start",
                    kind: 1,
                    traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
                    startTimeUnixNano: "90000000000",
                    endTimeUnixNano: "95000000000",
                    attributes: expect.arrayContaining([
                      text("k8s.pod.name", "web-0"),
                      text("k8s.namespace.name", "shop"),
                      { key: "kindling.restarts", value: { intValue: "0" } },
                    ]),
                    status: {},
                  },
                  { name: "scheduling", parentSpanId: expect.stringMatching(/^[0-9a-f]{16}$/) },
                  { name: "sandbox", startTimeUnixNano: "91000000000", endTimeUnixNano: "93000000000" },
                ],
              },
            ],
          },
        ],
      },
    },
  ]);
});

test("sends an abandoned start as a failed span and ignores other signals", async () => {
  const { endpoint, received } = await startCollector();
  const { exporter, until } = start({ endpoint });
  exporter.observe({ kind: "stuck", start: podStart(), stage: "sandbox" });
  exporter.observe({ kind: "abandoned", start: podStart(), stage: "sandbox" });
  await until(() => exporter.counts().sent === 1);
  expect(JSON.stringify(received)).toContain(
    '"status":{"code":2,"message":"the pod was deleted in stage sandbox before it was ready"}',
  );
});

test("retries after a retryable status", async () => {
  const { endpoint, received } = await startCollector(503, 429);
  const { exporter, until } = start({ endpoint });
  exporter.observe(ready("uid-1"));
  await until(() => exporter.counts().sent === 1);
  expect(received).toHaveLength(3);
  expect(received[0]?.body).toEqual(received[2]?.body);
});

test("logs once that the collector is unavailable, and once that it is available again", async () => {
  const { endpoint } = await startCollector(503, 503, 503);
  const logged: string[] = [];
  const destination = { write: (line: string) => logged.push(String(JSON.parse(line).msg)) };
  const logger = createLogger({ format: "json", level: "info", destination });
  const { exporter, until } = start({ endpoint, logger });
  exporter.observe(ready("uid-1"));
  await until(() => exporter.counts().sent === 1);
  expect(logged).toEqual([
    "sending traces to the collector failed; they stay queued and will be retried",
    "the collector accepts traces again",
  ]);
});

test("drops and counts rejected traces and continues with the next", async () => {
  const { endpoint } = await startCollector(400);
  const { exporter, until } = start({ endpoint });
  exporter.observe(ready("uid-1"));
  await until(() => exporter.counts().dropped === 1);
  exporter.observe(ready("uid-2"));
  await until(() => exporter.counts().sent === 1);
});

test("drops traces beyond the capacity while the collector is unreachable, and does not block shutdown", async () => {
  const { exporter, end } = start({ endpoint: "http://127.0.0.1:1/v1/traces", capacity: 2 });
  for (const uid of ["a", "b", "c", "d", "e"]) exporter.observe(ready(uid));
  expect(exporter.counts()).toEqual({ sent: 0, dropped: 3, waiting: 2 });
  await end();
  expect(exporter.counts()).toEqual({ sent: 0, dropped: 5, waiting: 0 });
});

test("sends queued traces on shutdown", async () => {
  const { endpoint, received } = await startCollector();
  const { exporter, end } = start({ endpoint });
  for (let i = 0; i < 250; i++) exporter.observe(ready(`uid-${i}`));
  await end();
  expect(exporter.counts()).toEqual({ sent: 250, dropped: 0, waiting: 0 });
  expect(received).toHaveLength(3);
});

test("exports the number of sent, dropped and queued traces", async () => {
  const { endpoint } = await startCollector(400);
  const { exporter, until } = start({ endpoint });
  const { registry, scrape } = createStartMetrics({ clock: createManualClock() });
  registerTraceMetrics(registry, exporter);
  exporter.observe(ready("uid-1"));
  await until(() => exporter.counts().dropped === 1);
  const text = String((await scrape()).body);
  expect(text).toContain('kindling_traces_total{result="dropped"} 1');
  expect(text).toContain("kindling_traces_waiting 0");
});
