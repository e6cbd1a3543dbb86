import { Agent } from "node:https";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../../../src/api/meta/objects.ts";
import type { Resource } from "../../../src/api/meta/resource.ts";
import { resourceOfKind } from "../../../src/client/api/resource-path.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { oneOfEach } from "../kubectl/one-of-each.ts";
import { readCredentials, startTestServer, type TestServer } from "../servers/api-server.ts";
import { type Probe, probe } from "./probe.ts";
import { rounds, seed } from "./rounds.ts";

/** One object of each kind, all of which are on the server. */
export const samples: KubeObject[] = parseAllDocuments(oneOfEach("x")).map((document) => document.toJS());

/** A server with the sample objects that collects its error log. */
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
    /** Sends generated requests: 20 per round, times `times`. */
    fuzz: (arbitrary: fc.Arbitrary<Probe>, times = 1) =>
      fc.assert(fc.asyncProperty(arbitrary, check), {
        seed,
        numRuns: rounds(20 * times),
        endOnFailure: true,
      }),
    server: () => server,
    /** To be called after all other tests. */
    expectWell: () =>
      test("afterwards the server is healthy and its log has no errors", async () => {
        expect((await server.call("GET", "/readyz")).text).toBe("ok");
        expect(errors).toEqual([]);
        expect({}).not.toHaveProperty("polluted");
      }),
  };
}

export function collectionOf({ apiVersion = "", kind = "" }: KubeObject): string {
  const resource = resourceOfKind(apiVersion, kind);
  if (!resource) throw new Error(`${kind} is not served`);
  return pathOf(resource);
}

export function pathOf({ group, version, namespaced, plural }: Resource): string {
  return `${group ? `/apis/${group}` : "/api"}/${version}/${namespaced ? "namespaces/default/" : ""}${plural}`;
}
