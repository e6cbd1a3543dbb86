import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import {
  createExecCredential,
  loadInClusterAccess,
  loadKubeconfig,
  parseExecCredential,
} from "./cluster-access.ts";
import { type ExecPlugin, KubeconfigError } from "./kubeconfig.ts";

const pem = "-----BEGIN CERTIFICATE-----\n";

describe("access to a cluster", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "kindling-access-"));
    await writeFile(join(folder, "ca.crt"), pem);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function writeConfig(name: string, cluster: object, user: object): Promise<string> {
    const path = join(folder, name);
    const context = { cluster: "c", user: "u" };
    await writeFile(
      path,
      JSON.stringify({
        "current-context": "x",
        contexts: [{ name: "x", context }],
        clusters: [{ name: "c", cluster: { server: "https://localhost", ...cluster } }],
        users: [{ name: "u", user }],
      }),
    );
    return path;
  }

  test("rereads a token file, and keeps the token while it is unreadable", async () => {
    const clock = createManualClock();
    await writeFile(join(folder, "token"), "one\n");
    const path = await writeConfig("config", { "certificate-authority": "ca.crt" }, { tokenFile: "token" });
    const access = await loadKubeconfig(path, { clock });
    expect(access.tls.ca).toBe(pem);
    await writeFile(join(folder, "token"), "two\n");
    expect(await access.token?.()).toBe("one");
    await clock.advance(10_000);
    expect(await access.token?.()).toBe("two");
    await rm(join(folder, "token"));
    await clock.advance(10_000);
    expect(await access.token?.()).toBe("two");
    await writeFile(join(folder, "token"), "three");
    await clock.advance(10_000);
    expect(await access.token?.()).toBe("three");
  });

  test("uses the token when the token file is missing", async () => {
    const path = await writeConfig("both", {}, { token: "spare", tokenFile: "nowhere" });
    expect(await (await loadKubeconfig(path)).token?.()).toBe("spare");
  });

  test.each([
    [
      { "certificate-authority": "missing.crt" },
      {},
      /clusters\["c"\]\.cluster\.certificate-authority cannot be read: ENOENT/,
    ],
    [{ "certificate-authority": "bad" }, {}, /certificate-authority: .*bad is not a PEM file/],
    [{}, { tokenFile: "missing" }, /tokenFile cannot be read: ENOENT/],
  ])("names the invalid file in %j %j", async (cluster, user, message) => {
    const path = await writeConfig("bad", cluster, user);
    await expect(loadKubeconfig(path)).rejects.toThrow(message);
  });

  test("reports which kubeconfig cannot be read", async () => {
    await expect(loadKubeconfig("/nowhere/config")).rejects.toThrow(
      new KubeconfigError("kubeconfig /nowhere/config does not exist"),
    );
    await expect(loadKubeconfig(folder)).rejects.toThrow(`kubeconfig ${folder} cannot be read: EISDIR`);
  });

  test("finds the cluster from within a pod", async () => {
    await writeFile(join(folder, "token"), "of-the-pod");
    const environment = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
    const access = await loadInClusterAccess({ environment, folder });
    expect(access.server.hostname).toBe("[fd00::1]");
    expect(access.tls.ca).toBe(pem);
    expect(await access.token?.()).toBe("of-the-pod");
  });

  test("requires a kubeconfig outside of a pod", async () => {
    await expect(loadInClusterAccess({ environment: {}, folder })).rejects.toThrow(/specify a kubeconfig$/);
  });
});

const apiVersion = "client.authentication.k8s.io/v1";
const plugin: ExecPlugin = { command: "login", args: [], env: {}, apiVersion, field: "user.exec" };
const print = (status: object) => JSON.stringify({ kind: "ExecCredential", apiVersion, status });

test("runs a plugin once for concurrent callers, and again before the credential expires", async () => {
  const clock = createManualClock(Date.parse("2030-01-01T00:00:00Z"));
  let runs = 0;
  const credential = createExecCredential(plugin, clock, async () => {
    runs++;
    const expirationTimestamp = new Date(clock.now() + 600_000).toISOString();
    return print({ token: `t${runs}`, expirationTimestamp });
  });
  const both = await Promise.all([credential(), credential()]);
  expect(both.map(({ token }) => token)).toEqual(["t1", "t1"]);
  await clock.advance(560_000);
  expect((await credential()).token).toBe("t1");
  await clock.advance(20_000);
  expect((await credential()).token).toBe("t2");
});

test("runs a failed plugin again", async () => {
  let runs = 0;
  const credential = createExecCredential(plugin, createManualClock(), async () => {
    if (runs++ === 0) throw new Error("user.exec: not logged in");
    return print({ token: "t" });
  });
  await expect(credential()).rejects.toThrow("not logged in");
  expect(await credential()).toEqual({ token: "t" });
});

test("accepts a certificate", () => {
  const status = { clientCertificateData: "CERT", clientKeyData: "KEY" };
  expect(parseExecCredential(print(status), plugin)).toEqual({ certificate: { cert: "CERT", key: "KEY" } });
});

test.each([
  ["no JSON", "secret", "user.exec: the program did not print JSON"],
  ["another kind", "{}", `user.exec: the program did not print an ExecCredential of ${apiVersion}`],
  ["nothing", print({}), "user.exec: the program printed neither token nor certificate"],
])("rejects %s", (_, text, message) => {
  expect(() => parseExecCredential(text, plugin)).toThrow(message);
});

test("reports the install hint of a missing program, and stderr of a failed one", async () => {
  const missing = { ...plugin, command: "no-such-program", installHint: "get it there" };
  await expect(createExecCredential(missing, createManualClock())()).rejects.toThrow(
    "user.exec: no-such-program is not installed\nget it there",
  );
  const failing = { ...plugin, command: "sh", args: ["-c", "echo who are you >&2; exit 3"] };
  await expect(createExecCredential(failing, createManualClock())()).rejects.toThrow(
    "user.exec: who are you",
  );
});

test("passes KUBERNETES_EXEC_INFO and the configured environment to the program", async () => {
  const script = `printf '%s' "{\\"kind\\":\\"ExecCredential\\",\\"apiVersion\\":\\"${apiVersion}\\",\\"status\\":{\\"token\\":\\"$WHO-$(echo $KUBERNETES_EXEC_INFO | grep -c ExecCredential)\\"}}"`;
  const own = { ...plugin, command: "sh", args: ["-c", script], env: { WHO: "me" } };
  expect(await createExecCredential(own, createManualClock())()).toEqual({ token: "me-1" });
});
