import { describe, expect, test } from "vitest";
import { parseStaticPod } from "./parse-static-pod.ts";

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

test("a pod of this node: its name, its marks, its defaults", () => {
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
  test("is the same whenever the same file is read", () => {
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

test("JSON will do, and a status in it is of no interest", () => {
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
