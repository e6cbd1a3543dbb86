import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildProgram } from "../commands.ts";
import { readUpConfig } from "./up-config.ts";

// Reading all that `up` consists of takes longer than a test may.
beforeAll(() => buildProgram((name) => name === "up"), 60_000);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kindling-config-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** `kindling up --config FILE ARGS`, up to where the cluster would be started. */
async function read(text: string, ...args: string[]) {
  const file = join(folder, "up.yaml");
  await writeFile(file, text);
  const program = await buildProgram((name) => name === "up");
  const command = program.commands.find((candidate) => candidate.name() === "up");
  let sections: Awaited<ReturnType<typeof readUpConfig>> | undefined;
  command?.action(async (_flags, self: Command) => {
    sections = await readUpConfig(self);
  });
  await program.parseAsync(["up", "--config", file, ...args], { from: "user" });
  return {
    options: command?.opts() ?? {},
    sections,
    sourceOf: (name: string) => command?.getOptionValueSource(name),
  };
}

test("every kind of option", async () => {
  const { options, sourceOf } = await read(`
dataDir: data
listen: 0.0.0.0:7443
store: etcd
etcdEndpoints: [http://127.0.0.1:2379, http://127.0.0.1:2380]
etcdCafile: certs/ca.pem
nodes: 3
runtime: simulated
ephemeral: true
mergeKubeconfig: true
featureGates: { ImagePullProgress: false, StartupProbe: true }
logLevel: warn
`);
  expect(options).toMatchObject({
    // Seen from where the file is.
    dataDir: join(folder, "data"),
    etcdCafile: join(folder, "certs/ca.pem"),
    listen: { host: "0.0.0.0", port: 7443 },
    store: "etcd",
    etcdEndpoints: "http://127.0.0.1:2379,http://127.0.0.1:2380",
    nodes: 3,
    runtime: { kind: "simulated" },
    ephemeral: true,
    mergeKubeconfig: true,
    featureGates: { ImagePullProgress: false, StartupProbeEnabled: true },
    logLevel: "warn",
  });
  expect(sourceOf("store")).toBe("config");
});

test("the command line takes precedence over the file, and an empty file sets nothing", async () => {
  const { options } = await read("nodes: 3\nstore: memory\n", "--nodes", "5");
  expect(options).toMatchObject({ nodes: 5, store: "memory" });
  expect((await read("")).options).toMatchObject({ nodes: 1, store: "lmdb" });
  expect((await read("# nothing\n")).sections).toEqual({});
});

test("the kubelet's and the runtime's own sections", async () => {
  const { sections } = await read(`
kubeletConfig:
  maxPods: 5
  nodeLabels: { disk: fast }
runtimeConfig:
  mirrors: { docker.io: [https://mirror.example.com] }
  handlers: { light: host }
`);
  expect(sections?.kubeletConfig).toMatchObject({ maxPods: 5, nodeLabels: { disk: "fast" }, port: 0 });
  expect(sections?.runtimeConfig?.handlers).toEqual(new Map([["light", "host"]]));
});

describe("errors name the field", () => {
  test.each([
    ["dataDirr: x", 'unknown field "dataDirr"; did you mean dataDir?'],
    ["kubeletconfig: {}", 'unknown field "kubeletconfig"; did you mean kubeletConfig?'],
    ["config: other.yaml", 'unknown field "config"'],
    ["constructor: x", 'unknown field "constructor"'],
    ["listen: 6443", "listen: must be HOST:PORT"],
    ["store: sqlite", "store: Allowed choices are lmdb, memory, etcd."],
    ["nodes: many", "nodes: must be a whole number from 1 to 5000"],
    ["nodes: {a: {}}", "nodes: must be a string or a number"],
    ["nodes: null", "nodes: must be a string or a number"],
    ["ephemeral: 1", "ephemeral: must be true or false"],
    ["featureGates: { Nonsense: true }", "featureGates: "],
    ["featureGates: { ImagePullProgress: maybe }", "featureGates: "],
    ["- a", "must be a mapping of options to values"],
    ["a: [", "up.yaml: "],
    ["kubeletConfig: { maxPod: 1 }", "did you mean maxPods?"],
    ["kubeletConfig: { maxPods: lots }", "maxPods: "],
    ["kubeletConfig: [1]", "kubeletConfig is not a kubelet configuration that can be used"],
    [
      "kubeletConfig: { featureGates: {} }",
      "kubeletConfig.featureGates: move it to the top level of the file",
    ],
    ["runtimeConfig: { mirror: {} }", 'runtimeConfig: unknown field "mirror"'],
    ["runtimeConfig: { handlers: { x: 1 } }", "runtimeConfig: handlers.x must be"],
  ])("%s", async (text, says) => {
    await expect(read(text)).rejects.toMatchObject({
      name: "UsageError",
      message: expect.stringContaining(says),
    });
  });

  test("a missing file", async () => {
    await expect(read("", "--config", join(folder, "none.yaml"))).rejects.toThrow(
      /none\.yaml does not exist$/,
    );
  });
});
