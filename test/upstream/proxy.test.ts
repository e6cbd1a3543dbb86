import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { unmountBelow } from "../../src/cluster/host/unmount-below.ts";
import { findProgram } from "../../src/runtime/drivers/find-program.ts";
import { startCriRuntime } from "../support/cri/cri-runtime.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { createKubectl } from "../support/kubectl/kubectl.ts";
import { makePod } from "../support/manifests/pod.ts";
import { shell, untilTold } from "../support/node/runtime-node.ts";
import { kindling, runKindling } from "../support/programs/run-kindling.ts";
import { hasTool } from "../support/programs/tools.ts";
import { startUpstreamServer } from "../support/servers/upstream-server.ts";

const programs = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"];
const missing = programs.filter((name) => findProgram(name) === undefined);
const isThere =
  missing.length === 0 && (["etcd", "kubectl", "busybox", "nft", "runc"] as const).every(hasTool);
const title = "on a node of upstream's cluster, kindling proxy in place of kube-proxy";

describe.runIf(isThere)(isThere ? title : `${title} [needs ${programs.join(", ")} on the PATH]`, () => {
  const folder = temporaryFolder();

  /** Starts a program of upstream with its log in the folder. */
  async function start(name: string, flags: Readonly<Record<string, string>>): Promise<void> {
    const log = await open(join(folder, `${name}.log`), "w");
    const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
    const child: ChildProcess = spawn(name, args, { stdio: ["ignore", log.fd, log.fd] });
    const exited = once(child, "exit");
    onTestFinished(async () => {
      child.kill("SIGKILL");
      await exited;
      await log.close();
    });
  }

  test("pods and the node reach a service, and its node port", async () => {
    // A default route, as nodes have: packets to cluster IPs need one before they are translated.
    execFileSync("sh", [
      "-ec",
      "ip link add up0 type bridge; ip address add 192.0.2.1/24 dev up0; ip link set up0 up; ip route add default via 192.0.2.254",
    ]);
    onTestFinished(() => void execFileSync("ip", ["link", "delete", "up0"]));
    const upstream = await startUpstreamServer(folder);
    onTestFinished(upstream.stop);
    const runtime = await startCriRuntime({ driver: "oci" });
    onTestFinished(runtime.stop);
    const admin = await upstream.accessOf("admin", "system:masters");
    const kubectl = createKubectl(admin);
    const role = ["--clusterrole=system:kubelet-api-admin", "--user=kube-apiserver-kubelet-client"];
    await kubectl.ok(["create", "clusterrolebinding", "kubelet-client", ...role]);
    await start("kube-controller-manager", { kubeconfig: admin, "secure-port": "0" });
    const scheduler = await upstream.accessOf("system:kube-scheduler");
    await start("kube-scheduler", { kubeconfig: scheduler, "secure-port": "0" });
    const config = join(folder, "kubelet.json");
    await writeFile(
      config,
      JSON.stringify({
        apiVersion: "kubelet.config.k8s.io/v1beta1",
        kind: "KubeletConfiguration",
        address: "192.0.2.1",
        authentication: { x509: { clientCAFile: upstream.caFile } },
        containerRuntimeEndpoint: runtime.endpoint,
        cgroupDriver: "cgroupfs",
        cgroupsPerQOS: false,
        enforceNodeAllocatable: [],
        failCgroupV1: false,
        failSwapOn: false,
        healthzPort: 0,
        readOnlyPort: 0,
        makeIPTablesUtilChains: false,
        localStorageCapacityIsolation: false,
        evictionHard: { "memory.available": "1Mi", "nodefs.available": "0%", "imagefs.available": "0%" },
        podLogsDir: join(folder, "pods-log"),
      }),
    );
    const rootDirectory = join(folder, "kubelet");
    onTestFinished(async () => void (await unmountBelow(rootDirectory)));
    await start("kubelet", {
      config,
      kubeconfig: await upstream.accessOf("system:node:node-1", "system:nodes"),
      "hostname-override": "node-1",
      "node-ip": "192.0.2.1",
      "root-dir": rootDirectory,
      "cert-dir": join(folder, "kubelet-pki"),
    });
    const proxyAccess = await upstream.accessOf("system:kube-proxy");
    const proxy = await runKindling([
      ...["proxy", "--kubeconfig", proxyAccess, "--node-name", "node-1"],
      ...["--healthz-listen", "127.0.0.1:0"],
    ]);
    onTestFinished(async () => {
      proxy.child.kill("SIGTERM");
      await proxy.exit;
      await kindling("proxy", "--cleanup");
    });

    await expect.poll(async () => (await kubectl.run("get serviceaccount default")).code).toBe(0);
    const server = shell("exec httpd -f -p 8080 -h /srv", { readinessProbe: { tcpSocket: { port: 8080 } } });
    const apply = (object: object) => kubectl.ok("apply -f -", { input: JSON.stringify(object) });
    const short = { terminationGracePeriodSeconds: 1 };
    await apply(makePod("web", { ...short, metadata: { labels: { app: "web" } }, containers: [server] }));
    await apply(makePod("client", { ...short, containers: [shell(untilTold)] }));
    await apply({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web" },
      spec: { type: "NodePort", selector: { app: "web" }, ports: [{ port: 80, targetPort: 8080 }] },
    });
    await kubectl.ok("wait --for=condition=Ready pod/web pod/client --timeout=200s");
    const { spec } = JSON.parse(await kubectl.ok("get service web -o json"));
    const read = (url: string) =>
      fetch(url).then(
        (response) => response.text(),
        (error) => String(error),
      );
    await expect.poll(() => read(`http://${spec.clusterIP}`)).toBe("hello from a pod\n");
    expect(await read(`http://192.0.2.1:${spec.ports[0].nodePort}`)).toBe("hello from a pod\n");
    expect(await kubectl.ok(`exec client -- wget -qO- http://${spec.clusterIP}`)).toBe("hello from a pod\n");
    await kubectl.ok("delete pod web client --timeout=100s");
    await expect.poll(() => read(`http://${spec.clusterIP}`)).toContain("fetch failed");
  });
});
