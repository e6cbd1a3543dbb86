import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findProgram } from "../../src/runtime/drivers/find-program.ts";
import { busyboxImage, type CriRuntime, startCriRuntime } from "../support/cri/cri-runtime.ts";
import { hasTool } from "../support/programs/tools.ts";
import { type FakeRegistry, layerOf, startFakeRegistry } from "../support/registry/fake-registry.ts";

// Debian has no package of it; build it from kubernetes-sigs/cri-tools (`go build ./cmd/crictl`).
const crictl = findProgram("crictl");
const title = crictl ? "the real crictl" : "the real crictl [needs crictl on the PATH]";
const run = promisify(execFile);

describe.runIf(crictl && hasTool("busybox"))(title, () => {
  describe.runIf(hasTool("runc"))("with the driver oci", () => suite("oci"));
  describe("with the driver host", () => suite("host"));
});

function suite(driver: "oci" | "host"): void {
  let runtime: CriRuntime;
  let registry: FakeRegistry;
  let folder: string;
  const children: ChildProcess[] = [];

  const words = (args: readonly string[]) => [
    ...["--config", join(folder, "crictl.yaml"), "--runtime-endpoint", runtime.endpoint],
    ...["--image-endpoint", runtime.endpoint, ...args],
  ];
  const call = async (...args: string[]) => (await run(crictl ?? "", words(args))).stdout;
  const fails = (...args: string[]) =>
    run(crictl ?? "", words(args)).then(
      () => "it did not fail",
      ({ stderr }) => String(stderr),
    );
  const json = async (command: string, ...args: string[]) =>
    JSON.parse(await call(command, "-o", "json", ...args));

  async function write(name: string, value: unknown): Promise<string> {
    const file = join(folder, name);
    await writeFile(file, JSON.stringify(value));
    return file;
  }

  /** Configuration for `crictl run` without namespaces, so that CRI's defaults apply. */
  async function runPod(name: string, command: readonly string[]): Promise<string> {
    const pod = {
      metadata: { name, namespace: "default", uid: name, attempt: 1 },
      log_directory: join(folder, name),
      linux: {},
    };
    const container = {
      metadata: { name: "main" },
      image: { image: busyboxImage },
      command,
      log_path: "main.0.log",
      linux: {},
    };
    const files = [await write(`${name}-c.json`, container), await write(`${name}-p.json`, pod)];
    return (await call("run", "--no-pull", ...files)).trim();
  }

  beforeAll(async () => {
    runtime = await startCriRuntime({ driver });
    folder = join(runtime.directory, "crictl");
    await mkdir(folder);
    await writeFile(join(folder, "crictl.yaml"), "timeout: 30\n");
    registry = await startFakeRegistry({ layers: [layerOf("hello", "hello\n")] });
  });
  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL");
    await runtime?.stop();
    await registry?.stop();
  });

  test("version, info, runtime-config", async () => {
    expect(await call("version")).toMatch(/RuntimeName:\s+kindling\n.*\nRuntimeApiVersion:\s+v1/);
    const { status, driver: reported } = await json("info");
    expect(status.conditions.map(({ status: holds }: { status: boolean }) => holds)).toEqual([true, true]);
    expect(reported.name).toBe(driver);
    expect(await call("runtime-config")).toMatch(/CGROUPFS/);
  });

  test("pull, images, inspecti, imagefsinfo, rmi --prune", async () => {
    const reference = `${registry.host}/app:v1`;
    expect(await call("pull", reference)).toContain("Image is up to date for");
    expect(await call("images", reference)).toMatch(/app\s+v1/);
    const { status, info } = await json("inspecti", reference);
    expect(status.repoTags).toEqual([reference]);
    expect(info.imageSpec.config).toHaveProperty("Env");
    const { status: filesystems } = await json("imagefsinfo");
    expect(Number(filesystems.imageFilesystems[0].usedBytes.value)).toBeGreaterThan(0);
    const kept = await runPod("keeps-its-image", ["sleep", "1000"]);
    expect(await call("rmi", "--prune")).toContain(`Deleted: ${reference}`);
    expect(await call("images", "-q")).not.toBe("");
    expect(await fails("inspecti", reference)).toMatch(/no such image/);
    await call("rm", "-f", kept);
  });

  test("run, ps, pods, inspect, logs, exec, stats, update, stop, rm, rmp", async () => {
    const script = "echo out; echo err >&2; while :; do sleep 1; done";
    const id = await runPod("all-of-it", ["sh", "-c", script]);
    const podId = (await call("pods", "--name", "all-of-it", "--state", "Ready", "-q")).trim();
    expect(await call("ps", "--pod", podId, "--state", "Running", "-q")).toBe(`${id}\n`);
    expect(await call("ps", "--state", "Exited", "-q")).not.toContain(id);
    const { status, info } = await json("inspect", id);
    expect(status).toMatchObject({ state: "CONTAINER_RUNNING", metadata: { name: "main" } });
    expect(info).toMatchObject({ pid: expect.any(Number), sandboxID: podId });
    expect((await json("inspectp", podId)).status.network.ip).toMatch(/^\d+\./);
    await expect.poll(() => call("logs", id)).toContain("out\n");
    expect(await call("logs", "--tail", "2", "-t", id)).toMatch(/^\S+Z /);
    for (const transport of ["spdy", "websocket"])
      expect(await call("exec", "--transport", transport, id, "echo", transport)).toBe(`${transport}\n`);
    expect(await call("exec", "--sync", id, "echo", "hello")).toContain("hello\n");
    expect(await fails("exec", id, "sh", "-c", "exit 4")).toMatch(/exit code 4/);
    expect(await fails("exec", "--sync", "--timeout", "1", id, "sleep", "4321")).toMatch(/timed? ?out/i);
    expect((await json("stats", id)).stats[0].attributes.id).toBe(id);
    expect((await json("statsp", podId)).stats[0].linux.containers[0].attributes.id).toBe(id);
    await call("update", "--memory", "100000000", id);
    expect((await json("inspect", id)).status.resources.linux.memoryLimitInBytes).toBe("100000000");
    await call("stop", id);
    expect((await json("inspect", id)).status.state).toBe("CONTAINER_EXITED");
    await call("rm", id);
    expect(await fails("rmp", podId)).toMatch(/is running, please stop it first/);
    await call("stopp", podId);
    await call("rmp", podId);
    expect(await call("pods", "-q")).not.toContain(podId);
  });

  test("attach and events show what happens", async () => {
    const follow = (...args: string[]) => {
      const child = spawn(crictl ?? "", words(args), { stdio: ["ignore", "pipe", "inherit"] });
      children.push(child);
      let text = "";
      child.stdout.on("data", (chunk) => {
        text += String(chunk);
      });
      return () => text;
    };
    const events = follow("events");
    // It prints nothing before the first event.
    await expect
      .poll(async () => {
        await call("rm", "-f", await runPod(`event-${Math.random()}`, ["true"]));
        return events();
      })
      .toContain("CONTAINER_DELETED_EVENT");
    const id = await runPod("watched", ["sh", "-c", "while :; do echo ticks; sleep 0.2; done"]);
    await expect.poll(follow("attach", id)).toContain("ticks");
    await call("rmp", "-f", "-a");
    await expect.poll(events).toContain(id);
    expect(await call("ps", "-a", "-q")).toBe("");
  });

  test("missing features are reported as such", async () => {
    const id = await runPod("lacks-something", ["sleep", "1000"]);
    const podId = (await call("pods", "-q")).trim();
    expect(await fails("port-forward", podId, "18080:80")).toMatch(/Unimplemented/);
    expect(await fails("checkpoint", `--export=${join(folder, "x.tar")}`, id)).toMatch(/Unimplemented/);
    await call("rmp", "-f", podId);
  });
}
