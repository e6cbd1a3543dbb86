import { expect, test } from "vitest";
import { makeConfigMap } from "../../support/manifests/config-map.ts";
import { shell, untilTold, useRuntimeNode } from "../../support/node/runtime-node.ts";
import { isReady } from "../../support/node/simulated-node.ts";
import { describeWithTool } from "../../support/programs/tools.ts";

describeWithTool("busybox", "volumes and environment of a container", () => {
  const host = useRuntimeNode({ driver: "host" });

  test("volumes: each kind is mounted, and an update of a config map is visible in the running container", async () => {
    const { node, exec } = host;
    const settings = makeConfigMap("settings", { data: { colour: "blue", size: "small" } });
    await node.client.create("configmaps", settings);
    const key = { namespace: "default", name: "settings" };
    await node.client.create("secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "password", namespace: "default" },
      data: { word: Buffer.from("s3cret").toString("base64") },
    });
    await node.client.create("serviceaccounts", {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "reader", namespace: "default" },
    });
    const pod = await node
      .run(
        "volumes",
        {
          serviceAccountName: "reader",
          containers: [
            shell(untilTold, {
              volumeMounts: [
                { name: "settings", mountPath: "/settings" },
                { name: "settings", mountPath: "/one/colour", subPath: "colour" },
                { name: "password", mountPath: "/password", readOnly: true },
                { name: "projected", mountPath: "/projected" },
                { name: "memory", mountPath: "/memory" },
                { name: "disk", mountPath: "/disk" },
                { name: "disk", mountPath: "/part", subPath: "a/b" },
              ],
            }),
          ],
          volumes: [
            { name: "settings", configMap: { name: "settings" } },
            { name: "password", secret: { secretName: "password", defaultMode: 0o400 } },
            { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
            { name: "disk", emptyDir: {} },
            {
              name: "projected",
              projected: {
                sources: [
                  { serviceAccountToken: { path: "token", audience: "shop", expirationSeconds: 3_600 } },
                  {
                    downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] },
                  },
                ],
              },
            },
          ],
        },
        { labels: { app: "volumes" } },
      )
      .then(() => node.until("volumes", isReady));
    expect(await exec(pod, "cat /settings/colour /settings/size /one/colour /password/word")).toBe(
      "bluesmallblues3cret",
    );
    expect(await exec(pod, "ls -l /password/..data/word")).toMatch(/^-r--------/);
    expect(await exec(pod, "cat /projected/labels")).toBe('app="volumes"');
    const [, claims = ""] = (await exec(pod, "cat /projected/token")).split(".");
    expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({
      aud: ["shop"],
      sub: "system:serviceaccount:default:reader",
      "kubernetes.io": { pod: { name: "volumes" } },
    });
    expect(await exec(pod, "mount")).toMatch(/ on \/memory type tmpfs .*size=1024k/);
    await exec(pod, "echo -n part > /part/file");
    expect(await exec(pod, "cat /disk/a/b/file")).toBe("part");

    await node.client.patch("configmaps", key, {
      patch: { kind: "merge", body: { data: { colour: "green", size: null } } },
    });
    await expect.poll(() => exec(pod, "cat /settings/colour")).toBe("green");
    // As upstream: a file that is mounted with subPath does not change.
    expect(await exec(pod, "ls /settings; cat /one/colour")).toBe("colour\nblue");
    // The pod's own description is another source of files.
    const ofPod = { namespace: "default", name: "volumes" };
    await node.client.patch("pods", ofPod, {
      patch: { kind: "merge", body: { metadata: { labels: { app: "renamed" } } } },
    });
    await expect.poll(() => exec(pod, "cat /projected/labels")).toBe('app="renamed"');

    // A restarted kubelet keeps updating the volumes that the previous one mounted.
    await node.stop();
    await node.start();
    await node.client.patch("configmaps", key, {
      patch: { kind: "merge", body: { data: { colour: "red" } } },
    });
    await expect.poll(() => exec(pod, "cat /settings/colour")).toBe("red");
    expect((await node.get("volumes"))?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
  });

  test("environment: literals, references, fields, resources, in order and expanded", async () => {
    const { node, exec } = host;
    const data = { LEVEL: "debug", NAME: "from the map" };
    await node.client.create("configmaps", makeConfigMap("env", { data }));
    await node.client.create("services", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "data-base", namespace: "default" },
      spec: { ports: [{ name: "sql", port: 5_432 }] },
    });
    const fieldRef = (fieldPath: string) => ({ valueFrom: { fieldRef: { fieldPath } } });
    await node.run("environment", {
      containers: [
        shell(untilTold, {
          envFrom: [{ configMapRef: { name: "env" } }, { prefix: "P_", configMapRef: { name: "env" } }],
          env: [
            { name: "NAME", ...fieldRef("metadata.name") },
            { name: "IP", ...fieldRef("status.podIP") },
            { name: "URL", value: "http://$(IP)/$(NAME)/$(UNDEFINED)/$$(NAME)" },
            {
              name: "MEMORY",
              valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: "1Mi" } },
            },
            { name: "KEY", valueFrom: { configMapKeyRef: { name: "env", key: "LEVEL" } } },
            { name: "NONE", valueFrom: { secretKeyRef: { name: "nowhere", key: "x", optional: true } } },
          ],
          resources: { limits: { memory: "64Mi" } },
        }),
      ],
    });
    const pod = await node.until("environment", isReady);
    const lines = (await exec(pod, "env")).split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        ...["LEVEL=debug", "P_LEVEL=debug", "NAME=environment", "KEY=debug", "MEMORY=64"],
        ...[`IP=${pod.status?.podIP}`, `URL=http://${pod.status?.podIP}/environment/$(UNDEFINED)/$(NAME)`],
      ]),
    );
    expect(lines.filter((line) => line.startsWith("NONE="))).toEqual([]);
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^DATA_BASE_SERVICE_HOST=[0-9.]+$/),
        "DATA_BASE_SERVICE_PORT=5432",
        "DATA_BASE_SERVICE_PORT_SQL=5432",
        expect.stringMatching(/^DATA_BASE_PORT_5432_TCP=tcp:\/\/[0-9.]+:5432$/),
      ]),
    );
    expect((await exec(pod, "hostname; cat /etc/hosts")).split("\n")).toEqual(
      expect.arrayContaining(["environment", `${pod.status?.podIP}\tenvironment`]),
    );
  });
});
