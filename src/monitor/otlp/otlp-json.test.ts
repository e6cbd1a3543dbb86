import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import type { StartSignal } from "../measure/start-signal.ts";
import { podStart } from "../metrics/pod-start.fixture.ts";
import { parseOtlp } from "./otlp-schema.fixture.ts";
import { createTraceExporter } from "./trace-exporter.ts";

const bodies: string[] = [];
const collector = createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  bodies.push(text);
  response.writeHead(200, { "content-type": "application/json" }).end("{}");
});
beforeAll(() => new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve)));
afterAll(() => {
  collector.closeAllConnections();
  collector.close();
});

/** Returns the request body that a collector receives for these signals. */
async function exported(...signals: readonly StartSignal[]): Promise<string> {
  const { port } = collector.address() as AddressInfo;
  const endpoint = `http://127.0.0.1:${port}/v1/traces`;
  const exporter = createTraceExporter({ endpoint, clock: createManualClock(100_000), logger: silentLogger });
  for (const signal of signals) exporter.observe(signal);
  const over = new AbortController();
  over.abort();
  // Queued traces are sent on shutdown.
  await exporter.run(over.signal);
  expect(exporter.counts()).toMatchObject({ sent: signals.length, dropped: 0 });
  return bodies.pop() ?? "";
}

const ends = { scheduling: 91_000, sandbox: 93_000, init: 93_500, containers: 94_000, readiness: 95_000 };
const pull = { image: "web:1", seconds: 1.2345, bytes: 123_456_789, endedMs: 93_900.5 };

test("encodes a complete start according to the protocol's JSON mapping", async () => {
  const start = podStart({ createdMs: 90_000.25, ends, pulls: [pull], userError: "MissingSecret" });
  const body = await exported({ kind: "ready", start, seconds: 5, endedMs: 0 });
  expect(parseOtlp(body)).toMatchObject({
    resourceSpans: [
      {
        resource: { attributes: [{ key: "service.name", value: { value: { value: "kindling-monitor" } } }] },
        scopeSpans: [
          {
            scope: { name: "kindling" },
            spans: [
              { name: "pod start", kind: 1, startTimeUnixNano: 90_000_250_000n, status: { code: 0 } },
              { name: "scheduling", endTimeUnixNano: 91_000_000_000n },
              { name: "sandbox" },
              { name: "init" },
              { name: "containers" },
              { name: "readiness" },
              { name: "pull web:1", endTimeUnixNano: 93_900_500_000n },
            ],
          },
        ],
      },
    ],
  });
});

test("encodes the status of an abandoned start as a number", async () => {
  const body = await exported({
    kind: "abandoned",
    start: podStart({ createdMs: 90_000 }),
    stage: "sandbox",
  });
  expect(parseOtlp(body)).toMatchObject({
    resourceSpans: [{ scopeSpans: [{ spans: [{ status: { code: 2, message: expect.any(String) } }] }] }],
  });
});

test.each([
  ["an unpaired surrogate", podStart({ pod: { name: "web\ud800" } })],
  ["text that looks like JSON", podStart({ pod: { name: '"}]}' }, class: { chosen: { team: "\u0000\n" } } })],
  ["a size beyond 64 bits", podStart({ createdMs: 90_000, pulls: [{ ...pull, bytes: 1e30 }] })],
  ["a fractional size", podStart({ createdMs: 90_000, pulls: [{ ...pull, bytes: 1.5 }] })],
  ["an endless pull", podStart({ createdMs: 90_000, pulls: [{ ...pull, seconds: 1e300 }] })],
])("sends a valid request for %s", async (_, start) => {
  parseOtlp(await exported({ kind: "ready", start, seconds: 5, endedMs: 0 }));
});

test.each([
  ['{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"AAAA"}]}]}]}', "traceId"],
  ['{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":1}]}]}]}', "startTimeUnixNano"],
  ['{"resourceSpans":[{"scopeSpans":[{"spans":[{"kind":"SPAN_KIND_INTERNAL"}]}]}]}', "kind"],
  ['{"resource_spans_":[]}', "unknown"],
])("the test's parser rejects %s", (body, problem) => {
  expect(() => parseOtlp(body)).toThrow(problem);
});
