import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { mergeKubeconfig, unmergeKubeconfig } from "./merge-kubeconfig.ts";

const own = {
  dataDir: "/data/one",
  cluster: { server: "https://127.0.0.1:6443", "certificate-authority-data": "Q0E=" },
  user: { "client-certificate-data": "QQ==", "client-key-data": "Qg==" },
  makeCurrent: false,
};

const theirs = `# my clusters
apiVersion: v1
kind: Config
preferences: { colors: true } # kept
clusters:
  - name: prod # the real one
    cluster: { server: https://prod.example.com, x-unknown: [1, 2] }
contexts:
  - name: prod
    context: { cluster: prod, user: me, namespace: shop }
current-context: prod
users:
  - name: me
    user:
      exec:
        command: login
        args: [--long]
x-other: value
`;

describe("merging into a new file", () => {
  test.each(["", "\n", "apiVersion: v1\nkind: Config\nclusters: []\nusers: []\ncontexts: null\n"])(
    "%j: writes a complete file with a current context",
    (text) => {
      const merged = mergeKubeconfig(text, own);
      expect(merged).toMatchObject({ context: "kindling", current: true });
      expect(parse(merged.text)).toEqual({
        apiVersion: "v1",
        kind: "Config",
        clusters: [
          {
            name: "kindling",
            cluster: {
              ...own.cluster,
              extensions: [{ name: "kindling", extension: { dataDir: "/data/one" } }],
            },
          },
        ],
        users: [{ name: "kindling", user: own.user }],
        contexts: [{ name: "kindling", context: { cluster: "kindling", user: "kindling" } }],
        "current-context": "kindling",
      });
    },
  );
});

describe("merging into an existing file", () => {
  test("keeps all content and comments, and the current context", () => {
    const { text, context, current } = mergeKubeconfig(theirs, own);
    expect({ context, current }).toEqual({ context: "kindling", current: false });
    const [before, after] = [parse(theirs), parse(text)];
    for (const list of ["clusters", "users", "contexts"]) {
      expect(after[list]).toHaveLength(2);
      expect(after[list][0]).toEqual(before[list][0]);
    }
    expect(after).toMatchObject({
      "current-context": "prod",
      "x-other": "value",
      preferences: { colors: true },
    });
    expect(text).toContain("# my clusters");
    expect(text).toContain("# the real one");
    expect(text).toContain("# kept");
  });

  test("replaces the entries of an earlier merge", () => {
    const once = mergeKubeconfig(theirs, own).text;
    expect(mergeKubeconfig(once, own).text).toBe(once);
    const moved = { ...own, cluster: { ...own.cluster, server: "https://127.0.0.1:7777" } };
    const again = parse(mergeKubeconfig(once, moved).text);
    expect(again.clusters).toHaveLength(2);
    expect(again.clusters[1].cluster.server).toBe("https://127.0.0.1:7777");
  });

  test("is reverted by removal", () => {
    const { text } = mergeKubeconfig(theirs, own);
    expect(parse(unmergeKubeconfig(text, own.dataDir) ?? "")).toEqual(parse(theirs));
    expect(unmergeKubeconfig(theirs, own.dataDir)).toBeUndefined();
    expect(unmergeKubeconfig(text, "/data/other")).toBeUndefined();
  });

  test("makes the context current on request; removal restores the previous one", () => {
    const first = mergeKubeconfig(theirs, { ...own, makeCurrent: true });
    expect(first.current).toBe(true);
    // A later merge without the request keeps both the current and the previous context.
    const second = mergeKubeconfig(first.text, own);
    expect(second.current).toBe(true);
    expect(parse(second.text)["current-context"]).toBe("kindling");
    expect(parse(unmergeKubeconfig(second.text, own.dataDir) ?? "")).toEqual(parse(theirs));
  });

  test("does not restore a deleted context", () => {
    const { text } = mergeKubeconfig(theirs, { ...own, makeCurrent: true });
    const without = text.replace("- name: prod\n    context", "- name: renamed\n    context");
    expect(parse(unmergeKubeconfig(without, own.dataDir) ?? "")["current-context"]).toBe("");
  });

  test("keeps entries named kindling that belong to others", () => {
    const hand = "clusters:\n- name: kindling\n  cluster: {server: 'https://h'}\n";
    const first = mergeKubeconfig(hand, own);
    expect(first.context).toBe("kindling-2");
    const second = mergeKubeconfig(first.text, { ...own, dataDir: "/data/two" });
    expect(second.context).toBe("kindling-3");
    expect(parse(second.text).clusters[0]).toEqual({ name: "kindling", cluster: { server: "https://h" } });
    const left = parse(unmergeKubeconfig(second.text, own.dataDir) ?? "");
    expect(left.clusters.map(({ name }: { name: string }) => name)).toEqual(["kindling", "kindling-3"]);
  });

  test("keeps JSON, anchors and long lines", () => {
    const long = "A".repeat(4_000);
    const anchored = `x: &a {k: ${long}}\ny: *a\n`;
    const text = mergeKubeconfig(anchored, own).text;
    expect(parse(text)).toMatchObject({ x: { k: long }, y: { k: long } });
    expect(text).toContain(`k: ${long}`);
    const json = JSON.stringify(parse(theirs));
    expect(parse(unmergeKubeconfig(mergeKubeconfig(json, own).text, own.dataDir) ?? "")).toEqual(
      parse(theirs),
    );
  });
});

test.each([
  ["clusters: [", /not valid YAML/],
  ["a: 1\na: 2", /not valid YAML/],
  ["a: 1\n---\nb: 2", /not valid YAML/],
  ["- a", /must be a mapping/],
  ["just text", /must be a mapping/],
  ["clusters: {a: 1}", /clusters must be a list/],
  ["users: me", /users must be a list/],
])("rejects %j", (text, says) => {
  expect(() => mergeKubeconfig(text, own)).toThrow(says);
  expect(() => unmergeKubeconfig(text, own.dataDir)).toThrow(says);
});
