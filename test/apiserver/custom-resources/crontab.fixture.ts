import type {
  CustomResourceDefinition,
  DefinitionSpec,
  DefinitionVersion,
} from "../../../src/api/custom/custom-resource-definition.ts";
import type { OpenApiSchema } from "../../../src/api/custom/open-api-schema.ts";
import type { TestServer } from "../../support/servers/api-server.ts";

export const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const cronTabsPath = "/apis/stable.example.com/v1/namespaces/default/crontabs";

const cronTabSchema: OpenApiSchema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      required: ["cronSpec"],
      properties: {
        cronSpec: { type: "string", pattern: "^[-0-9*/, ]+$", description: "When the job runs." },
        image: { type: "string", default: "busybox", maxLength: 20 },
        replicas: { type: "integer", minimum: 0, maximum: 10, default: 1 },
        port: { "x-kubernetes-int-or-string": true },
        policy: { type: "string", enum: ["Allow", "Forbid"] },
        note: { type: "string", nullable: true },
        tags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
        steps: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: {
            type: "object",
            required: ["name"],
            properties: { name: { type: "string" }, seconds: { type: "integer", maximum: 60 } },
          },
        },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        template: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          "x-kubernetes-preserve-unknown-fields": true,
        },
      },
    },
    status: {
      type: "object",
      properties: {
        replicas: { type: "integer" },
        selector: { type: "string" },
        phase: { type: "string" },
      },
    },
  },
};

export function cronTabVersion(name = "v1", parts: Partial<DefinitionVersion> = {}): DefinitionVersion {
  return {
    name,
    served: true,
    storage: true,
    schema: { openAPIV3Schema: cronTabSchema },
    subresources: {
      status: {},
      scale: {
        specReplicasPath: ".spec.replicas",
        statusReplicasPath: ".status.replicas",
        labelSelectorPath: ".status.selector",
      },
    },
    additionalPrinterColumns: [
      { name: "Spec", type: "string", jsonPath: ".spec.cronSpec", description: "When it runs" },
      { name: "Replicas", type: "integer", jsonPath: ".spec.replicas", priority: 1 },
      { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    ],
    selectableFields: [{ jsonPath: ".spec.image" }],
    ...parts,
  };
}

/** A definition of `crontabs.stable.example.com`, or of other names and versions. */
export function cronTabDefinition(parts: Partial<DefinitionSpec> = {}): CustomResourceDefinition {
  const spec: DefinitionSpec = {
    group: "stable.example.com",
    scope: "Namespaced",
    names: {
      plural: "crontabs",
      singular: "crontab",
      kind: "CronTab",
      shortNames: ["ct"],
      categories: ["all"],
    },
    versions: [cronTabVersion()],
    ...parts,
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${spec.names.plural}.${spec.group}` },
    spec,
  };
}

export function cronTab(name: string, spec: object = { cronSpec: "* * * * *" }, version = "v1") {
  return { apiVersion: `stable.example.com/${version}`, kind: "CronTab", metadata: { name }, spec };
}

/** Creates a definition and waits until it is established. */
export async function establish(
  server: Pick<TestServer, "json">,
  definition = cronTabDefinition(),
): Promise<CustomResourceDefinition> {
  await server.json("POST", definitionsPath, definition);
  return waitForCondition(server, definition.metadata.name ?? "", "Established");
}

export async function waitForCondition(
  server: Pick<TestServer, "json">,
  name: string,
  type: string,
  status = "True",
): Promise<CustomResourceDefinition> {
  for (;;) {
    const current = await server.json<CustomResourceDefinition>("GET", `${definitionsPath}/${name}`);
    if (current.status?.conditions?.some((found) => found.type === type && found.status === status))
      return current;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
