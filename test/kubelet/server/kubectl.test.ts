import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createKubectl,
  describeEachKubectl,
  type Kubectl,
  type KubectlTool,
} from "../../support/kubectl/kubectl.ts";
import { type HandmadePod, type KubeletBench, startKubeletBench } from "../../support/node/kubelet-pod.ts";
import { describeWithTool, toolPath } from "../../support/programs/tools.ts";

/** kubectl, through the API server, to a kubelet's server, to our runtime. */
describeWithTool("busybox", "kubectl and a kubelet's pods", () => {
  let bench: KubeletBench;
  let pod: HandmadePod;
  beforeAll(async () => {
    bench = await startKubeletBench();
    pod = await bench.makePod("shell", {
      web: {
        command: ["sh", "-c", "echo one; echo two; while read line; do echo got $line; done"],
        stdin: true,
      },
      side: { command: ["sh", "-c", "echo side; exec sleep 1000"] },
    });
    const containerId = pod.containerId("web");
    // kubectl cp needs it.
    const link = ["busybox", "ln", "-s", "busybox", "/bin/tar"];
    await bench.runtime.client.runtime.execSync({ containerId, cmd: link, timeout: 10n });
  });
  afterAll(() => bench?.close());

  describeEachKubectl(suite);

  function suite(tool: KubectlTool): void {
    let kubectl: Kubectl;
    beforeAll(() => {
      kubectl = createKubectl(bench.kubelet.api.kubeconfig, tool);
    });

    /** kubectl's own is in the home directory, and by port: another test's server may have had this one. */
    const ownCache = () => ({ KUBECACHEDIR: `${bench.kubelet.api.kubeconfig}-cache-${tool}` });

    /** What comes back on `kubectl attach`, which ends with the container and not with its input. */
    async function typeInto(name: string, container: string, word: string, env = {}): Promise<string> {
      const args = ["--kubeconfig", bench.kubelet.api.kubeconfig, "attach", "-i", name, "-c", container];
      const child = spawn(toolPath(tool), args, { env: { ...process.env, ...ownCache(), ...env } });
      let output = "";
      child.stdout.on("data", (chunk) => {
        output += chunk;
      });
      child.stdin.write(`${word}\n`);
      await expect.poll(() => output).toContain(`got ${word}\n`);
      child.kill("SIGKILL");
      return output;
    }

    test("logs: all, the last, with times, of every container", async () => {
      await expect.poll(() => kubectl.ok("logs shell -c web")).toMatch(/^one\ntwo\n/);
      expect(await kubectl.ok("logs shell -c web --tail=1 --limit-bytes=2")).toHaveLength(2);
      await expect.poll(() => kubectl.ok("logs shell -c side --timestamps")).toMatch(/^\d{4}-\S+ side\n$/);
      expect(await kubectl.ok("logs shell --all-containers --prefix --since=1h")).toContain(
        "[pod/shell/side] side\n",
      );
    });

    test("logs -f follows the log, and --previous shows the log of the previous container", async () => {
      const name = `counter-${tool}`;
      const counter = await bench.makePod(name, {
        web: { command: ["sh", "-c", "echo started; while read line; do echo got $line; done"], stdin: true },
      });
      const following = kubectl.follow(`logs -f ${name}`);
      await following.until(/started\n/);
      await typeInto(name, "web", "hello");
      await following.until(/got hello\n/);
      await counter.restart("web");
      await expect.poll(() => kubectl.ok(`logs ${name}`)).toBe("started\n");
      expect(await kubectl.ok(`logs ${name} --previous`)).toBe("started\ngot hello\n");
      await following.stop();
    });

    test("logs of a container without a log explain the reason", async () => {
      expect(await kubectl.fails("logs shell -c web --previous")).toContain(
        'previous terminated container "web" in pod "shell" not found',
      );
      const name = `early-${tool}`;
      const early = await bench.makePod(name, { web: { command: ["sleep", "1000"] } });
      early.setState("web", { state: { waiting: { reason: "ContainerCreating" } } });
      expect(await kubectl.fails(`logs ${name}`)).toContain(
        `container "web" in pod "${name}" is waiting to start: ContainerCreating`,
      );
    });

    describe.each([
      ["WebSocket", "true"],
      ["SPDY", "false"],
    ])("over %s", (_, value) => {
      const env = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: value };

      test("exec: outputs, exit code, input", async () => {
        const words = ["exec", "shell", "-c", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 7"];
        const { code, stdout, stderr } = await kubectl.run(words, { env });
        expect({ code, stdout }).toEqual({ code: 7, stdout: "out\n" });
        expect(stderr).toContain("err\n");
        const input = "x".repeat(300_000);
        expect(await kubectl.ok(["exec", "-i", "shell", "-c", "web", "--", "cat"], { env, input })).toBe(
          input,
        );
      });

      test("exec -it: a terminal with a size", async () => {
        const line = [toolPath(tool), "--kubeconfig", bench.kubelet.api.kubeconfig, "exec", "-it", "shell"];
        const command = `stty cols 111 rows 33; exec ${line.join(" ")} -c web -- sh`;
        const child = spawn("script", ["-qefc", command, "/dev/null"], {
          env: { ...process.env, ...ownCache(), ...env },
        });
        let output = "";
        child.stdout.on("data", (chunk) => {
          output += chunk;
        });
        await expect.poll(() => output).toContain("# ");
        // The size and what is typed go separate ways. The terminal echoes the line: it is no answer itself.
        child.stdin.write('until stty size | grep -q "33 11[1]"; do sleep 0.1; done; stty size; exit 5\n');
        const code = await new Promise((resolve) => child.once("close", resolve));
        expect(output).toMatch(/33 111\r\n/);
        expect(code).toBe(5);
      });

      test("attach: the container's own streams", async () => {
        const word = `hello-${tool}-${value}`;
        expect(await typeInto("shell", "web", word, env)).toContain(`got ${word}\n`);
        await expect.poll(() => kubectl.ok("logs shell -c web --tail=1")).toBe(`got ${word}\n`);
      });

      test("cp: there and back", async () => {
        const folder = bench.runtime.directory;
        const bytes = randomBytes(2_000_000);
        await writeFile(join(folder, "there"), bytes);
        await kubectl.ok(["cp", join(folder, "there"), "shell:/tmp/file", "-c", "web"], { env });
        await kubectl.ok(["cp", "shell:/tmp/file", join(folder, "back"), "-c", "web"], { env });
        expect((await readFile(join(folder, "back"))).equals(bytes)).toBe(true);
      });
    });

    test("exec in a container that is not running reports it", async () => {
      const name = `gone-${tool}`;
      const gone = await bench.makePod(name, { web: { command: ["sleep", "1000"] } });
      gone.setState("web", { state: { terminated: { exitCode: 0 } } });
      expect(await kubectl.fails(["exec", name, "--", "true"])).toContain('container not found ("web")');
    });

    test("the node's proxy shows the kubelet's pages", async () => {
      expect(await kubectl.ok("get --raw /api/v1/nodes/n1/proxy/healthz")).toBe("ok");
      const list = JSON.parse(await kubectl.ok("get --raw /api/v1/nodes/n1/proxy/pods"));
      expect(list.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toContain(
        "shell",
      );
      const running = JSON.parse(await kubectl.ok("get --raw /api/v1/nodes/n1/proxy/runningpods/"));
      expect(running.items).toContainEqual(
        expect.objectContaining({
          metadata: { name: "shell", namespace: "default", uid: pod.pod.metadata.uid },
          spec: {
            containers: expect.arrayContaining([{ name: "web", image: "test.local/busybox:1" }]),
          },
        }),
      );
    });
  }
});
