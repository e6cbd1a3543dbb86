import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer, type Server, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KeyPair } from "../../../lib/x509/certificate.ts";
import { issueKeyPair } from "../pki/authority.ts";
import { issueClientCertificate, loadOrCreatePki, type Pki } from "../pki/pki.ts";
import { identifyPeer } from "./authenticate.ts";

const now = Date.now();
const year = 365 * 24 * 60 * 60 * 1000;
let directory: string;
let ours: Pki;
let theirs: Pki;
let server: Server;
const connections: TLSSocket[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "kindling-tls-"));
  ours = await loadOrCreatePki({ directory: join(directory, "ours"), now });
  theirs = await loadOrCreatePki({ directory: join(directory, "theirs"), now });
  server = createServer({
    ...ours.serving,
    ca: ours.authority.cert,
    requestCert: true,
    rejectUnauthorized: false,
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(async () => {
  for (const socket of connections) socket.destroy();
  server.close();
  await rm(directory, { recursive: true });
});

/** The server's end of a connection that a client opened with this certificate. */
async function handshake(client: Partial<KeyPair>): Promise<TLSSocket> {
  const accepted = once(server, "secureConnection");
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: "127.0.0.1", ca: ours.authority.cert, ...client });
  socket.on("error", () => {});
  const [served] = await accepted;
  connections.push(socket, served);
  return served;
}

describe("a client", () => {
  test("with a certificate of our CA is the user in the certificate", async () => {
    expect(identifyPeer(await handshake(ours.admin), now)).toMatchObject({
      kind: "user",
      user: {
        username: "kubernetes-admin",
        groups: ["system:masters", "system:authenticated"],
        extra: {
          "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)],
        },
      },
    });
  });

  test("may be in several groups", async () => {
    const pair = issueClientCertificate(ours, { commonName: "jane", organizations: ["dev", "a, b"], now });
    expect(identifyPeer(await handshake(pair), now)).toMatchObject({
      user: { username: "jane", groups: ["dev", "a, b", "system:authenticated"] },
    });
  });

  test("cannot put a second name or a group into its name", async () => {
    const commonName = "jane\nO=system:masters, CN=kubernetes-admin";
    const pair = issueClientCertificate(ours, { commonName, now });
    expect(identifyPeer(await handshake(pair), now)).toMatchObject({
      user: { username: commonName, groups: ["system:authenticated"] },
    });
  });

  test("without a certificate there is no user", async () => {
    expect(identifyPeer(await handshake({}), now)).toEqual({ kind: "none" });
  });

  test("without a common name there is no user", async () => {
    const pair = issueClientCertificate(ours, { commonName: "", organizations: ["system:masters"], now });
    expect(identifyPeer(await handshake(pair), now)).toEqual({ kind: "none" });
  });

  test.each<[string, () => KeyPair]>([
    ["of another CA", () => theirs.admin],
    ["self-signed", () => selfSigned()],
    ["for servers", () => ours.serving],
    ["that is expired", () => issueClientCertificate(ours, { commonName: "jane", now: now - 2 * year })],
  ])("with a certificate %s is refused", async (_, pair) => {
    expect(identifyPeer(await handshake(pair()), now)).toMatchObject({ kind: "invalid" });
  });
});

test("identity is read once per connection, but ends with the certificate", async () => {
  const socket = await handshake(ours.admin);
  const identity = identifyPeer(socket, now);
  expect(identifyPeer(socket, now)).toBe(identity);
  expect(identifyPeer(socket, now + 2 * year)).toEqual({
    kind: "invalid",
    reason: "the client certificate has expired",
  });
});

/** Names the right issuer, but another key signed it. */
function selfSigned(): KeyPair {
  const forger = { ...ours.authority.issuer, privateKey: theirs.authority.issuer.privateKey };
  return issueKeyPair(
    { ...ours.authority, issuer: forger },
    {
      subject: { commonName: "kubernetes-admin", organizations: ["system:masters"] },
      purpose: "client",
      now,
    },
  );
}
