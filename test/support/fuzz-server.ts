import { Agent } from "node:https";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../../src/api/objects.ts";
import { findResourceOfKind, type Resource } from "../../src/api/resources.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { readCredentials, startTestServer, type TestServer } from "./api-server.ts";
import { oneOfEach } from "./one-of-each.ts";
import { type Probe, probe } from "./probe.ts";

/** More runs, or another seed, look further: what a failure prints finds it again. */
const runs = Number(process.env.KINDLING_FUZZ_RUNS ?? 100);
const seed = Number(process.env.KINDLING_FUZZ_SEED ?? 20_260_301);

/** One object of each kind, all of which are on the server. */
export const samples: KubeObject[] = parseAllDocuments(oneOfEach("x")).map((document) => document.toJS());

/** A server that holds the samples and keeps what it logs as an error. */
export function useFuzzServer() {
  const errors: string[] = [];
  let server: TestServer;
  let agent: Agent;
  beforeAll(async () => {
    const destination = { write: (line: string) => errors.push(line) };
    server = await startTestServer({ logger: createLogger({ format: "json", level: "error", destination }) });
    agent = new Agent({ keepAlive: true, maxSockets: 8, ...(await readCredentials(server.kubeconfig)) });
    for (const sample of samples) await server.json("POST", collectionOf(sample), sample);
  });
  afterAll(async () => {
    agent.destroy();
    await server.close();
  });

  /** Whatever it is sent, the server answers, never with a 500, and complains in a form that clients can read. */
  async function check(sent: Probe): Promise<void> {
    const { status, text } = await probe(server.url, agent, sent);
    const context = `${sent.method} ${sent.path} ${JSON.stringify(sent.headers ?? {})} ${sent.body?.toString().slice(0, 2_000) ?? ""}\n${text.slice(0, 500)}`;
    if (status >= 500) throw new Error(`${status}: ${context}`);
    // An expectation that is none is refused below the API, as by any HTTP server.
    if (status < 400 || status === 417 || sent.method === "HEAD") return;
    if (status === 404 && text === "404 page not found\n") return;
    const answer = JSON.parse(text);
    if (answer.kind !== "Status" || answer.code !== status) throw new Error(`no Status: ${context}`);
  }

  return {
    /** Sends what comes of the arbitrary, `times` times as often as usual. */
    fuzz: (arbitrary: fc.Arbitrary<Probe>, times = 1) =>
      fc.assert(fc.asyncProperty(arbitrary, check), { seed, numRuns: runs * times, endOnFailure: true }),
    server: () => server,
    /** To be called after all other tests. */
    expectWell: () =>
      test("afterwards the server is well, and nothing in its log is an error", async () => {
        expect((await server.call("GET", "/readyz")).text).toBe("ok");
        expect(errors).toEqual([]);
        expect({}).not.toHaveProperty("polluted");
      }),
  };
}

export function collectionOf({ apiVersion = "", kind = "" }: KubeObject): string {
  const resource = findResourceOfKind(apiVersion, kind);
  if (!resource) throw new Error(`${kind} is not served`);
  return pathOf(resource);
}

export function pathOf({ group, version, namespaced, plural }: Resource): string {
  return `${group ? `/apis/${group}` : "/api"}/${version}/${namespaced ? "namespaces/default/" : ""}${plural}`;
}
