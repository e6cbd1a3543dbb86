import type { Pod } from "../../../src/api/meta/objects.ts";
import type { FakeApi } from "../../../src/kubelet/volumes/fake-api.fixture.ts";
import { podWith } from "./volumes-on-machine.ts";

const keys = ["a", "b", "c"];

export function crashPod(): Pod {
  return podWith([
    { name: "config", configMap: { name: "web" } },
    { name: "key", secret: { secretName: "key" } },
    { name: "shm", emptyDir: { medium: "Memory" } },
  ]);
}

/** All keys of both objects contain the version, and one key is named after it. */
export function putVersion(api: FakeApi, version: string): void {
  const data = Object.fromEntries([...keys, `only-${version}`].map((key) => [key, version]));
  const base64 = Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );
  api.put("configmaps", { metadata: { namespace: "shop", name: "web" }, data });
  api.put("secrets", { metadata: { namespace: "shop", name: "key" }, data: base64 });
}
