import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { installPackage } from "../support/programs/packed-package.ts";

const run = promisify(execFile);
const project = temporaryFolder();

beforeAll(async () => {
  await installPackage(project);
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
}, 300_000);

const consumer = `
import { startCluster, StatusError, type TestCluster, WaitTimeoutError } from "kindling";

export async function use(): Promise<TestCluster> {
  await using cluster = await startCluster({ nodes: 2, features: { ImagePullProgress: false } });
  const pod = await cluster.client.get("pods", "web");
  const phase: string | undefined = pod.status?.phase;
  const created: string | undefined = pod.metadata.creationTimestamp;
  const ready = await cluster.client.waitFor("statefulsets", "db", ({ status }) => status?.readyReplicas === 2);
  using fault = cluster.faults.stallPull({ image: phase }, { at: created?.length, lasting: "5s" });
  fault.end();
  await cluster.clock.advance("5m");
  for await (const { type, object } of cluster.client.watch("events")) console.log(type, object.involvedObject.name);
  await cluster.client.create("configmaps", { metadata: { name: "cm" }, data: { a: "1" } });
  // @ts-expect-error: there is no such resource
  await cluster.client.get("pots", "web");
  // @ts-expect-error: a number is no phase
  const wrong: number = ready.spec?.template.spec?.nodeName;
  // @ts-expect-error: there is no such gate
  await startCluster({ features: { Nothing: true } });
  // @ts-expect-error: a config map holds text
  await cluster.client.create("configmaps", { metadata: { name: "cm" }, data: { a: wrong } });
  const error: unknown = undefined;
  if (error instanceof StatusError) console.log(error.code, error.reason);
  if (error instanceof WaitTimeoutError) console.log(error.explanation?.because);
  return startCluster({ runtime: "simulated" });
}
`;

test.each([
  ["nodenext", { module: "nodenext" }],
  ["bundler", { module: "esnext", moduleResolution: "bundler", lib: ["es2022", "dom"] }],
])("its types stand alone, for moduleResolution %s", async (name, options) => {
  const file = `consumer-${name}.ts`;
  const config = join(project, `tsconfig.${name}.json`);
  await writeFile(join(project, file), consumer);
  // Declarations of packages are checked too, and no other package is there.
  const strict = { target: "es2022", strict: true, noEmit: true, skipLibCheck: false, types: [] };
  await writeFile(config, JSON.stringify({ compilerOptions: { ...strict, ...options }, files: [file] }));
  const checked = run(process.execPath, ["node_modules/typescript/bin/tsc", "-p", config]).catch(
    (error: { stdout: string }) => error,
  );
  expect((await checked).stdout).toBe("");
});

test("it runs from the package, and the process exits when the cluster is closed", async () => {
  await writeFile(
    join(project, "run.js"),
    `import { startCluster } from "kindling";
const cluster = await startCluster();
await cluster.client.create("pods", { metadata: { name: "web" }, spec: { containers: [{ name: "c", image: "web:1" }] } });
await cluster.client.waitFor("pods", "web", "Ready");
await cluster.close();
console.log("done");
`,
  );
  expect(await run(process.execPath, [join(project, "run.js")])).toEqual({ stdout: "done\n", stderr: "" });
});

describe.runIf(process.getuid?.() === 0)("with real containers", () => {
  test("a pod with volumes and an unavailable image leaves no mount and no file", async () => {
    const tmp = await mkdtemp(join(tmpdir(), "kindling-real-"));
    // Nothing listens there: the pull fails, with the pod's sandbox and volumes made.
    await writeFile(
      join(project, "real.js"),
      `import { readFileSync } from "node:fs";
import { startCluster } from "kindling";
const cluster = await startCluster({ runtime: "real" });
try {
  const containers = [{ name: "c", image: "127.0.0.1:1/none:1" }];
  await cluster.client.create("pods", { metadata: { name: "waiting" }, spec: { containers } });
  await cluster.client.waitFor("pods", "waiting", "PodReadyToStartContainers");
  await cluster.client.waitFor("pods", "waiting", ({ status }) =>
    /ErrImagePull|ImagePullBackOff/.test(status?.containerStatuses?.[0]?.state?.waiting?.reason ?? ""));
  console.log(readFileSync("/proc/self/mountinfo", "utf8").includes("${tmp}") ? "mounted" : "nothing mounted");
  try { cluster.faults.slowVolume({}, "1s"); } catch (error) { console.log(error.message); }
} finally {
  await cluster.close();
}
`,
    );
    const { stdout } = await run(process.execPath, [join(project, "real.js")], {
      env: { ...process.env, TMPDIR: tmp },
    });
    expect(stdout).toContain("mounted\nthis fault needs simulated nodes");
    expect(await readFile("/proc/self/mountinfo", "utf8")).not.toContain(tmp);
    expect(await readdir(tmp)).toEqual([]);
    await rm(tmp, { recursive: true });
  });
});
