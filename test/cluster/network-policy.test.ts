import { execFileSync } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startUp } from "../support/cluster/up-process.ts";
import { buildBusybox, busyboxImage } from "../support/cri/cri-runtime.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const policy = (name: string, spec: string) => `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: ${name} }
spec: ${spec}
---`;
const pod = (name: string, command: string, more = "") => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: ${name} } }
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - name: main
      image: ${busyboxImage}
      command: [sh, -c, ${JSON.stringify(command)}]
      ${more}
---`;
const server = pod(
  "server",
  "mkdir /www; echo hello > /www/index.html; exec httpd -f -p 8080 -h /www",
  "readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 }",
);
const onlyFriends = policy(
  "only-friends",
  "{ podSelector: { matchLabels: { app: server } }, ingress: [{ from: [{ podSelector: { matchLabels: { app: friend } } }], ports: [{ port: 8080 }] }] }",
);
const locked = policy("locked", "{ podSelector: { matchLabels: { app: locked } }, policyTypes: [Egress] }");

/** Command that fails if there is no response for three seconds. */
const get = (url: string) => `(wget -qO- ${url} & sleep 3; kill $! 2>&-; wait $!)`;

describeWithTool("nft", "network policies of kindling up", () => {
  describeWithTool("runc", "with containers", () => {
    const folder = temporaryFolder();
    const policyTables = () =>
      execFileSync("nft", ["list", "tables"])
        .toString()
        .split("\n")
        .filter((line) => line.endsWith("-policy"));

    test("are enforced from the first packet on, outlast a kill, and are removed by reset", async ({
      onTestFinished,
    }) => {
      const dataDir = await mkdtemp(join(folder, "data-"));
      const args = ["--data-dir", dataDir, "--dashboard", "off", "--service-proxy", "nftables"];
      let up = await startUp(args);
      onTestFinished(async () => {
        await up.kill("SIGKILL");
        await (await runKindling(["reset", "--yes", "--data-dir", dataDir])).exit;
      });
      await buildBusybox({
        dataDir: join(dataDir, "nodes/node-1/runtime"),
        directory: await mkdtemp(join(folder, "image-")),
      });
      await up.kubectl.ok("apply -f -", { input: onlyFriends + locked + server });
      // The kubelet's probe reaches the isolated pod.
      await up.kubectl.ok("wait --for=condition=Ready --timeout=120s pod/server");
      await up.kubectl.ok("expose pod server --port 80 --target-port 8080");
      const address = await up.kubectl.ok("get pod server -o jsonpath={.status.podIP}");
      const first = `${get(`http://${address}:8080`)} || echo blocked; exec sleep 1000`;
      const names = ["friend", "stranger", "locked"];
      await up.kubectl.ok("apply -f -", { input: names.map((name) => pod(name, first)).join("") });
      const logOf = (name: string, text: string) =>
        expect
          .poll(async () => (await up.kubectl.run(`logs ${name}`)).stdout, { timeout: 120_000 })
          .toContain(text);
      await Promise.all(["stranger", "locked"].map((name) => logOf(name, "blocked")));
      const connect = async (name: string, url = "http://server") =>
        (await up.kubectl.run(["exec", name, "--", "sh", "-c", get(url)])).stdout.trim();
      await expect.poll(() => connect("friend")).toBe("hello");
      expect(await connect("stranger")).toBe("");
      // Labels decide, also later.
      await up.kubectl.ok("label pod stranger app=friend --overwrite");
      await expect.poll(() => connect("stranger")).toBe("hello");
      await up.kubectl.ok("label pod stranger app=stranger --overwrite");
      await expect.poll(() => connect("stranger")).toBe("");
      expect(
        await up.kubectl.ok(
          `get node -o jsonpath={.items[0].status.conditions[?(@.type=="kindling.dev/ServiceProxyReady")].message}`,
        ),
      ).toContain("network policies are enforced");

      await up.kill("SIGKILL");
      expect(policyTables()).toHaveLength(3);
      up = await startUp(args);
      await expect.poll(() => connect("friend", `http://${address}:8080`)).toBe("hello");
      expect(await connect("stranger", `http://${address}:8080`)).toBe("");
      await up.kubectl.ok("delete networkpolicy only-friends");
      await expect.poll(() => connect("stranger", `http://${address}:8080`)).toBe("hello");

      await up.kill("SIGKILL");
      expect(policyTables()).toHaveLength(3);
      expect(await (await runKindling(["reset", "--yes", "--data-dir", dataDir])).exit).toBe(0);
      expect(policyTables()).toEqual([]);
    });
  });
});

describe("network policies with the userspace proxy", () => {
  describeWithTool("ip", "where it works", () => {
    describeWithTool("runc", "with containers", () => {
      test("are reported as not enforced by a warning, an event and the node's status", async ({
        onTestFinished,
      }) => {
        const { kubectl, kill } = await startUp([
          ...["--ephemeral", "--dashboard", "off"],
          ...["--service-proxy", "userspace"],
        ]);
        onTestFinished(async () => void (await kill("SIGTERM")));
        const status = `get node -o jsonpath={.items[0].status.conditions[?(@.type=="kindling.dev/ServiceProxyReady")].message}`;
        await expect
          .poll(() => kubectl.ok(status))
          .toContain("network policies are not enforced because the service proxy is userspace");
        const { stderr } = await kubectl.run("apply -f -", { input: locked });
        expect(stderr).toContain(
          "Warning: NetworkPolicies are stored but not enforced in this cluster: pods accept all connections",
        );
        await expect
          .poll(() => kubectl.ok("get events --field-selector reason=NotEnforced"))
          .toMatch(/Warning\s+NotEnforced\s+networkpolicy\/locked\s+The policy is stored but not enforced/);
      });
    });
  });
});
