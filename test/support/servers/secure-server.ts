import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { issueClientCertificate, loadOrCreatePki, type Pki } from "../../../src/apiserver/auth/pki/pki.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { type ApiClient, createClient, startTestServer, type TestServer } from "./api-server.ts";

/** In the server's token file. */
export const aliceToken = "alices-token-is-a-secret";

/** A server that logs all it can, and clients of any identity. */
export function useSecureServer() {
  const log: string[] = [];
  /** Texts that must never be logged. */
  const secrets = new Set<string>([aliceToken]);
  const clients: ApiClient[] = [];
  let dataDir: string;
  let server: TestServer;
  let pki: Pki;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "kindling-secure-"));
    const logger = createLogger({
      format: "json",
      level: "trace",
      destination: { write: (line: string) => log.push(line) },
    });
    server = await startTestServer({ dataDir, tokens: `${aliceToken},alice,1,"devs,testers"\n`, logger });
    pki = await loadOrCreatePki({ directory: join(dataDir, "pki"), now: Date.now() });
  });
  afterAll(async () => {
    for (const client of clients) client.disconnect();
    await server.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  function connect(pair: { cert?: string; key?: string }): ApiClient {
    const client = createClient(server.url, { ca: pki.authority.cert, ...pair });
    clients.push(client);
    return client;
  }

  return {
    server: () => server,
    secrets,
    connect,
    /** By a certificate of the cluster's own CA. */
    as: (commonName: string, ...organizations: string[]) =>
      connect(issueClientCertificate(pki, { commonName, organizations, now: Date.now() })),
    /** To be called after all other tests. */
    expectSilence: () =>
      test("none of the secrets is in the log, which has a line for each request", () => {
        const lines = log.join("");
        expect(log.length).toBeGreaterThan(10);
        for (const secret of secrets) {
          expect(lines).not.toContain(secret);
          expect(lines).not.toContain(Buffer.from(secret).toString("base64"));
        }
        expect(lines).not.toMatch(/PRIVATE KEY|eyJhbGciOi/);
      }),
  };
}

/** The requests that a caller with a bearer token makes: no certificate, one header. */
export function withToken(token: string) {
  return { anonymous: true, headers: { authorization: `Bearer ${token}` } };
}
