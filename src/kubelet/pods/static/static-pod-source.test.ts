import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Pod } from "../../../api/meta/objects.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { createManualClock } from "../../../lib/manual-clock.ts";
import { parseStaticPod, runStaticPodSource } from "./static-pod-source.ts";

describe("static-pod-source", () => {
  let parent: string;
  let directory: string;
  let stop: AbortController;
  let running: Promise<void> | undefined;

  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), "kindling-static-"));
    directory = join(parent, "manifests");
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await running;
    await rm(parent, { recursive: true, force: true });
  });

  function start() {
    const clock = createManualClock(0);
    const seen: string[][] = [];
    const names = (pods: ReadonlyMap<string, Pod>) =>
      [...pods.values()].map(({ metadata }) => metadata.name ?? "");
    running = runStaticPodSource(
      {
        directory,
        nodeName: "n",
        clock,
        logger: silentLogger,
        onPods: (pods) => void seen.push(names(pods)),
      },
      stop.signal,
    );
    return { clock, seen, untilSeen: (last: string[]) => expect.poll(() => seen.at(-1)).toEqual(last) };
  }

  const podFile = (name: string) =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: { containers: [{ name: "c", image: "web:1" }] },
    });

  test("reads existing files and changes immediately", async () => {
    await mkdir(directory);
    await writeFile(join(directory, "b.yaml"), podFile("b"));
    await writeFile(join(directory, "a.yaml"), podFile("a"));
    await writeFile(join(directory, ".hidden.yaml"), podFile("hidden"));
    const { untilSeen } = start();
    await untilSeen(["a-n", "b-n"]);
    await writeFile(join(directory, ".c.yaml"), podFile("c"));
    await rename(join(directory, ".c.yaml"), join(directory, "c.yaml"));
    await untilSeen(["a-n", "b-n", "c-n"]);
    await rm(join(directory, "a.yaml"));
    await untilSeen(["b-n", "c-n"]);
  });

  test("ignores invalid files, directories and files that are too large", async () => {
    await mkdir(join(directory, "folder"), { recursive: true });
    await writeFile(join(directory, "bad.yaml"), "kind: [");
    await writeFile(join(directory, "large.yaml"), Buffer.alloc(11 * 1024 * 1024, " "));
    await writeFile(join(directory, "good.yaml"), podFile("good"));
    await start().untilSeen(["good-n"]);
  });

  test("a missing directory has no pods and is read when it is created", async () => {
    const { clock, untilSeen } = start();
    await untilSeen([]);
    await mkdir(directory);
    await writeFile(join(directory, "late.yaml"), podFile("late"));
    await expect.poll(() => clock.sleeping()).toBe(1);
    await clock.advance(20_000);
    await untilSeen(["late-n"]);
    // From then on it is watched.
    await writeFile(join(directory, "later.yaml"), podFile("later"));
    await untilSeen(["late-n", "later-n"]);
  });

  test("an unreadable directory keeps the running pods", async () => {
    await writeFile(directory, "a file in its place");
    const { clock, seen } = start();
    await expect.poll(() => clock.sleeping()).toBe(1);
    expect(seen).toEqual([]);
  });
});

describe("parse-static-pod", () => {
  const path = "/etc/manifests/web.yaml";
  const text = `
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: { app: web }
  uid: ignored
spec:
  containers:
  - name: c
    image: web:1
`;
  const parse = (file: string, nodeName = "node-1") => parseStaticPod({ path, text: file }, nodeName);

  test("sets node name suffix, annotations and defaults", () => {
    const { metadata, spec } = parse(text);
    expect(metadata).toMatchObject({ name: "web-node-1", namespace: "default", labels: { app: "web" } });
    expect(metadata.uid).toMatch(/^[0-9a-f]{32}$/);
    expect(metadata.annotations).toEqual({
      "kubernetes.io/config.hash": metadata.uid,
      "kubernetes.io/config.source": "file",
    });
    expect(spec).toMatchObject({
      nodeName: "node-1",
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      tolerations: [{ operator: "Exists", effect: "NoExecute" }],
      containers: [{ name: "c", imagePullPolicy: "IfNotPresent" }],
    });
  });

  describe("its uid", () => {
    const uid = parse(text).metadata.uid;
    test("is the same for the same file", () => {
      expect(parse(text).metadata.uid).toBe(uid);
    });
    test.each([
      ["contents", parse(text.replace("web:1", "web:2"))],
      ["place", parseStaticPod({ path: "/etc/manifests/other.yaml", text }, "node-1")],
      ["node", parse(text, "node-2")],
    ])("is another for another %s", (_, pod) => {
      expect(pod.metadata.uid).not.toBe(uid);
    });
  });

  test("accepts JSON and ignores its status", () => {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "json", namespace: "shop" },
      spec: { containers: [{ name: "c", image: "web:1" }] },
      status: { phase: "Failed" },
    };
    const parsed = parse(JSON.stringify(pod));
    expect(parsed.metadata).toMatchObject({ name: "json-node-1", namespace: "shop" });
    expect(parsed.status).toBeUndefined();
  });

  test.each([
    ["nothing", "", /./],
    ["no YAML", "a: [", /./],
    ["a list", "[]", /./],
    ["another kind", text.replace("kind: Pod", "kind: Service"), /Service|kind/],
    ["an unknown field", `${text}  hostNetwerk: true\n`, /hostNetwerk/],
    ["no container", "apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec: {}\n", /spec\.containers/],
    ["a container without an image", text.replace("    image: web:1\n", ""), /spec\.containers\[0\]\.image/],
    [
      "a name that is a path",
      text.replace("name: web\n  labels", "name: ../../web\n  labels"),
      /metadata\.name/,
    ],
    [
      "a namespace that is one",
      text.replace("name: web\n  labels", "name: web\n  namespace: ../..\n  labels"),
      /metadata\.namespace/,
    ],
    ["no name", text.replace("  name: web\n", ""), /metadata\.name/],
  ])("refuses %s, and says what is wrong", (_, file, why) => {
    expect(() => parse(file)).toThrow(why);
  });
});
