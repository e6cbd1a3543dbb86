import schemaJson from "../generated/schema.json" with { type: "json" };
import { enums } from "./enums.ts";
import { atomicDefinitions, mergeRules } from "./merge-rules.ts";
import { fieldNumbersOf } from "./protobuf/field-numbers.ts";
import { createSchema } from "./schema.ts";

/** Schema of the built-in kinds and of everything that requests for them contain. */
export const builtInSchema = createSchema({
  definitions: schemaJson,
  mergeRules,
  atomicDefinitions,
  enums,
  fieldNumbers: fieldNumbersOf,
  openApiName: (definition) =>
    `${definition.startsWith("meta.") ? "io.k8s.apimachinery.pkg.apis." : "io.k8s.api."}${definition}`,
  // Loaded on first use: the file is large, and only OpenAPI documents need it.
  async loadDescriptions() {
    const { default: descriptions } = await import("../generated/descriptions.json", {
      with: { type: "json" },
    });
    return descriptions;
  },
});
