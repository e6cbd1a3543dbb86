import { expect, test } from "vitest";
import type { CriClient } from "../../../src/cri/cri-client.ts";
import type { Mount } from "../../../src/cri/generated/cri.ts";
import { isReady, useSimulatedNode } from "../../support/node/simulated-node.ts";

const asked: Mount[] = [];

/** The same runtime, which can mount read-only all the way down and notes what it is asked to mount. */
function ableRuntime({ runtime, ...rest }: CriClient): CriClient {
  const features = { recursiveReadOnlyMounts: true, userNamespaces: false };
  return {
    ...rest,
    runtime: {
      ...runtime,
      status: async (request, options) => ({
        ...(await runtime.status(request, options)),
        runtimeHandlers: [{ name: "", features }],
      }),
      createContainer(request, options) {
        asked.push(...(request.config?.mounts ?? []));
        return runtime.createContainer(request, options);
      },
    },
  };
}

const host = useSimulatedNode({ wrapCri: ableRuntime });

test("a volume is recursively read-only if the runtime supports it, and the status shows it", async () => {
  const mount = { readOnly: true, recursiveReadOnly: "Enabled" };
  const volumeMounts = [
    { name: "data", mountPath: "/deep", ...mount },
    { name: "data", mountPath: "/if-possible", ...mount, recursiveReadOnly: "IfPossible" },
    { name: "data", mountPath: "/flat", readOnly: true },
  ];
  await host.node.run("sealed", {
    containers: [{ name: "c", image: "web:1", volumeMounts }],
    volumes: [{ name: "data", emptyDir: {} }],
  });
  const pod = await host.node.until("sealed", isReady);
  const expected = [
    ["/deep", true],
    ["/if-possible", true],
    ["/flat", false],
  ] as const;
  const mounted = new Map(
    asked.map(({ containerPath, recursiveReadOnly }) => [containerPath, recursiveReadOnly]),
  );
  for (const [path, recursive] of expected) expect([path, mounted.get(path)]).toEqual([path, recursive]);
  const shown = pod.status?.containerStatuses?.[0]?.volumeMounts;
  expect(shown?.map(({ mountPath, recursiveReadOnly }) => [mountPath, recursiveReadOnly])).toEqual(
    expected.map(([path, recursive]) => [path, recursive ? "Enabled" : "Disabled"]),
  );
});
