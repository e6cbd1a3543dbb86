import { describe, expect, test } from "vitest";
import type { ConfigMap, Container, PodSpec, Secret, Service } from "../../api/meta/objects.ts";
import { makePodWith } from "./make-pod.fixture.ts";
import { type EnvironmentSources, resolveEnvironment, serviceVariables } from "./resolve-environment.ts";

describe("resolve-environment", () => {
  const configMaps: Record<string, ConfigMap["data"]> = {
    "shop/config": { A: "1", B: "two", "with.dots-and": "x" },
    "shop/odd": { "b=c": "1", "a=b": "2", good: "3" },
    "shop/empty": undefined,
  };
  const secrets: Record<string, Secret["data"]> = {
    "shop/keys": { PASSWORD: Buffer.from("s3cret").toString("base64"), RAW: "/wD+" },
  };

  function service(namespace: string, name: string, clusterIP: string): Service {
    const spec = { clusterIP, ports: [{ port: 443, name: "https" }] };
    return { apiVersion: "v1", kind: "Service", metadata: { namespace, name }, spec };
  }

  const services = [
    service("default", "kubernetes", "10.96.0.1"),
    service("default", "other", "10.96.0.2"),
    service("shop", "db", "10.96.0.3"),
  ];

  function sources(calls: string[] = []): EnvironmentSources {
    return {
      getConfigMap: async (namespace, name) => {
        calls.push(`configmap ${name}`);
        const data = configMaps[`${namespace}/${name}`];
        if (!Object.hasOwn(configMaps, `${namespace}/${name}`)) return undefined;
        return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
      },
      getSecret: async (namespace, name) => {
        calls.push(`secret ${name}`);
        const data = secrets[`${namespace}/${name}`];
        return data && { apiVersion: "v1", kind: "Secret", metadata: { name }, data };
      },
      getService: async (namespace, name) =>
        services.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
      listServices: async (namespace) => services.filter(({ metadata }) => metadata.namespace === namespace),
    };
  }

  async function resolve(container: Partial<Container>, spec: Partial<PodSpec> = {}, from = sources()) {
    const { pod, container: made } = makePodWith(container, { enableServiceLinks: false, ...spec });
    const { environment, warnings } = await resolveEnvironment(from, {
      pod,
      container: made,
      podIps: ["10.0.0.2"],
      hostIps: ["192.0.2.1"],
      allocatable: { cpu: "4", memory: "8Gi" },
      readVolumeFile: async (volume, path) => {
        if (volume !== "files") throw new Error("no such volume");
        return path === "good" ? "KEY='from file'" : "bad";
      },
      signal: new AbortController().signal,
    });
    const names = [...environment.keys()].filter((name) => !name.startsWith("KUBERNETES_"));
    return { names, value: (name: string) => environment.get(name)?.toString(), environment, warnings };
  }

  describe("resolveEnvironment", () => {
    test("literals expand variables defined before them", async () => {
      const { value, names } = await resolve({
        env: [
          { name: "FIRST", value: "$(SECOND)-$(KUBERNETES_SERVICE_HOST)-$$(FIRST)" },
          { name: "SECOND", value: "2" },
          { name: "THIRD", value: "$(FIRST)$(SECOND)é" },
          { name: "EMPTY" },
          { name: "SECOND", value: "$(SECOND)2" },
        ],
      });
      expect(names).toEqual(["FIRST", "SECOND", "THIRD", "EMPTY"]);
      expect(value("FIRST")).toBe("$(SECOND)-10.96.0.1-$(FIRST)");
      expect(value("THIRD")).toBe("$(SECOND)-10.96.0.1-$(FIRST)2é");
      expect(value("EMPTY")).toBe("");
      expect(value("SECOND")).toBe("22");
    });

    test("envFrom applies first, later sources override earlier ones, and env overrides all", async () => {
      const { value, names } = await resolve({
        envFrom: [
          { configMapRef: { name: "config" } },
          { prefix: "P_", secretRef: { name: "keys" } },
          { configMapRef: { name: "absent", optional: true } },
          { configMapRef: { name: "empty" } },
        ],
        env: [{ name: "A", value: "$(P_PASSWORD)/$(B)" }],
      });
      expect(names).toEqual(["A", "B", "with.dots-and", "P_PASSWORD", "P_RAW"]);
      expect(value("A")).toBe("s3cret/two");
    });

    test("a secret's bytes pass unchanged, also through a reference", async () => {
      const { environment } = await resolve({
        env: [
          { name: "RAW", valueFrom: { secretKeyRef: { name: "keys", key: "RAW" } } },
          { name: "TWICE", value: "$(RAW)é$(RAW)" },
        ],
      });
      expect(environment.get("RAW")).toEqual(Buffer.from([0xff, 0x00, 0xfe]));
      expect(environment.get("TWICE")).toEqual(Buffer.from([0xff, 0x00, 0xfe, 0xc3, 0xa9, 0xff, 0x00, 0xfe]));
    });

    test("skips and reports invalid names", async () => {
      const { names, warnings } = await resolve({ envFrom: [{ configMapRef: { name: "odd" } }] });
      expect(names).toEqual(["good"]);
      expect(warnings).toEqual([
        "Keys [a=b, b=c] from the EnvFrom configMap shop/odd were skipped since they are considered invalid environment variable names.",
      ]);
    });

    test("fields, resources, keys and files", async () => {
      const { value } = await resolve({
        env: [
          { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
          { name: "NODE", valueFrom: { fieldRef: { fieldPath: "status.hostIP" } } },
          { name: "CPU", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
          { name: "KEY", valueFrom: { configMapKeyRef: { name: "config", key: "B" } } },
          { name: "FILE", valueFrom: { fileKeyRef: { volumeName: "files", path: "good", key: "KEY" } } },
        ],
      });
      expect(["IP", "NODE", "CPU", "KEY", "FILE"].map(value)).toEqual([
        "10.0.0.2",
        "192.0.2.1",
        "4",
        "two",
        "from file",
      ]);
    });

    test("missing optional references are skipped", async () => {
      const optional = true;
      const { names } = await resolve({
        env: [
          { name: "A", valueFrom: { configMapKeyRef: { name: "absent", key: "x", optional } } },
          { name: "B", valueFrom: { configMapKeyRef: { name: "config", key: "x", optional } } },
          { name: "C", valueFrom: { secretKeyRef: { name: "absent", key: "x", optional } } },
          { name: "D", valueFrom: { secretKeyRef: { name: "keys", key: "x", optional } } },
          { name: "E", valueFrom: { fileKeyRef: { volumeName: "files", path: "good", key: "x", optional } } },
        ],
      });
      expect(names).toEqual([]);
    });

    const variable = (valueFrom: NonNullable<Container["env"]>[number]["valueFrom"]) => ({
      env: [{ name: "X", valueFrom }],
    });
    test.each([
      ['configmap "x" not found', { envFrom: [{ configMapRef: { name: "x" } }] }],
      ['secret "x" not found', { envFrom: [{ secretRef: { name: "x" } }] }],
      ['configmap "x" not found', variable({ configMapKeyRef: { name: "x", key: "k" } })],
      ['secret "x" not found', variable({ secretKeyRef: { name: "x", key: "k" } })],
      [
        "couldn't find key k in ConfigMap shop/config",
        variable({ configMapKeyRef: { name: "config", key: "k" } }),
      ],
      ["couldn't find key k in Secret shop/keys", variable({ secretKeyRef: { name: "keys", key: "k" } })],
      ["unsupported fieldPath: status.phase", variable({ fieldRef: { fieldPath: "status.phase" } })],
      [
        'environment variable key "k" not found in file "good"',
        variable({ fileKeyRef: { volumeName: "files", path: "good", key: "k" } }),
      ],
      [
        "couldn't parse env file",
        variable({ fileKeyRef: { volumeName: "files", path: "other", key: "k", optional: true } }),
      ],
    ])("%s", async (message, container) => {
      await expect(resolve(container)).rejects.toMatchObject({
        reason: "CreateContainerConfigError",
        message,
      });
    });

    test("each object is read once", async () => {
      const calls: string[] = [];
      const container = {
        envFrom: [{ configMapRef: { name: "config" } }],
        env: ["A", "B"].map((key) => ({
          name: `X${key}`,
          valueFrom: { configMapKeyRef: { name: "config", key } },
        })),
      };
      await resolve(container, {}, sources(calls));
      expect(calls).toEqual(["configmap config"]);
    });

    test("variables of services have the lowest precedence; those of the API server are always set", async () => {
      const env = [{ name: "DB_PORT", value: "mine" }];
      const linked = await resolve({ env }, { enableServiceLinks: true });
      expect(linked.names.slice(0, 2)).toEqual(["DB_PORT", "DB_SERVICE_HOST"]);
      expect(linked.value("DB_PORT")).toBe("mine");
      expect(linked.value("DB_SERVICE_HOST")).toBe("10.96.0.3");
      expect(linked.value("KUBERNETES_SERVICE_HOST")).toBe("10.96.0.1");
      expect(linked.value("OTHER_SERVICE_HOST")).toBeUndefined();

      const unlinked = await resolve({ env });
      expect(unlinked.names).toEqual(["DB_PORT"]);
      expect(unlinked.value("KUBERNETES_SERVICE_PORT_HTTPS")).toBe("443");
    });
  });
});

describe("service-variables", () => {
  function service(name: string, spec: Service["spec"]): Service {
    return { apiVersion: "v1", kind: "Service", metadata: { name }, spec };
  }

  test("names and values are upstream's", () => {
    const variables = serviceVariables([
      service("foo-bar", {
        clusterIP: "1.2.3.4",
        ports: [
          { port: 8080, protocol: "TCP" },
          { port: 8081, name: "an-name", protocol: "UDP" },
        ],
      }),
    ]);
    expect([...variables]).toEqual([
      ["FOO_BAR_SERVICE_HOST", "1.2.3.4"],
      ["FOO_BAR_SERVICE_PORT", "8080"],
      ["FOO_BAR_SERVICE_PORT_AN_NAME", "8081"],
      ["FOO_BAR_PORT", "tcp://1.2.3.4:8080"],
      ["FOO_BAR_PORT_8080_TCP", "tcp://1.2.3.4:8080"],
      ["FOO_BAR_PORT_8080_TCP_PROTO", "tcp"],
      ["FOO_BAR_PORT_8080_TCP_PORT", "8080"],
      ["FOO_BAR_PORT_8080_TCP_ADDR", "1.2.3.4"],
      ["FOO_BAR_PORT_8081_UDP", "udp://1.2.3.4:8081"],
      ["FOO_BAR_PORT_8081_UDP_PROTO", "udp"],
      ["FOO_BAR_PORT_8081_UDP_PORT", "8081"],
      ["FOO_BAR_PORT_8081_UDP_ADDR", "1.2.3.4"],
    ]);
  });

  test("an IPv6 address has brackets in URLs only", () => {
    const variables = serviceVariables([service("v6", { clusterIP: "fd00::1", ports: [{ port: 80 }] })]);
    expect(variables.get("V6_SERVICE_HOST")).toBe("fd00::1");
    expect(variables.get("V6_PORT")).toBe("tcp://[fd00::1]:80");
  });

  test.each([
    ["headless", { clusterIP: "None", ports: [{ port: 80 }] }],
    ["without an address", { ports: [{ port: 80 }] }],
    ["without ports", { clusterIP: "1.2.3.4" }],
  ])("a service that is %s has none", (_, spec) => {
    expect([...serviceVariables([service("x", spec)])]).toEqual([]);
  });
});
