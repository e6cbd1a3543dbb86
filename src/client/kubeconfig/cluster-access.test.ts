import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { loadInClusterAccess, loadKubeconfig } from "./cluster-access.ts";
import { KubeconfigError } from "./kubeconfig.ts";

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
