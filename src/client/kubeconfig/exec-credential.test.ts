import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createExecCredential, parseExecCredential } from "./exec-credential.ts";
import type { ExecPlugin } from "./kubeconfig.ts";

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
