import type { CustomResourceDefinition, DefinitionVersion } from "../../custom/custom-resource-definition.ts";
import { applyDefaults, dropNulls } from "../../custom/defaults.ts";
import type { OpenApiSchema } from "../../custom/open-api-schema.ts";
import { pruneObject } from "../../custom/prune.ts";
import type { KubeObject } from "../../meta/objects.ts";
import { compareVersions } from "../../meta/version.ts";
import { define, type JsonObject } from "../../schema/json-object.ts";
import {
  defineKind,
  type KindDefinition,
  type StoredConversion,
  type Subresource,
} from "../kind-definition.ts";
import { customColumns } from "./custom-columns.ts";
import { customScale } from "./custom-scale.ts";
import { createCustomSchema } from "./custom-schema.ts";
import { createCustomStrategy } from "./custom-strategy.ts";

/** Converts objects to another version of a custom resource (`example.com/v1`). */
export type ConvertVersion = (
  objects: readonly KubeObject[],
  apiVersion: string,
) => Promise<readonly KubeObject[]>;

interface CustomKindOptions {
  /** Default: conversion changes the apiVersion only. */
  readonly webhook?: ConvertVersion | undefined;
  /** Whether the definition is being deleted. Objects cannot be created then. */
  readonly isTerminating?: () => boolean;
}

/**
 * Kinds that a definition serves: one for each served version, all with the same stored objects. The names are the accepted
 * ones.
 */
export function customKinds(
  definition: CustomResourceDefinition,
  options: CustomKindOptions = {},
): KindDefinition[] {
  const versions = definition.spec.versions ?? [];
  const stored = versions.find(({ storage }) => storage);
  return versions
    .filter(({ served }) => served)
    .sort((a, b) => compareVersions(a.name, b.name))
    .map((version) => customKind(definition, version, { ...options, stored: stored?.name ?? version.name }));
}

function customKind(
  { spec, status }: CustomResourceDefinition,
  version: DefinitionVersion,
  options: CustomKindOptions & { stored: string },
): KindDefinition {
  const { group } = spec;
  const names = status?.acceptedNames ?? spec.names;
  const schema = version.schema?.openAPIV3Schema ?? {};
  const apiVersion = `${group}/${version.name}`;
  const { scale, status: hasStatus } = version.subresources ?? {};
  const subresources: Subresource[] = [
    ...(hasStatus ? (["status"] as const) : []),
    ...(scale ? (["scale"] as const) : []),
  ];
  return defineKind({
    resource: {
      group,
      version: version.name,
      plural: spec.names.plural,
      kind: names.kind,
      ...(names.listKind && { listKind: names.listKind }),
      singular: names.singular ?? "",
      namespaced: spec.scope === "Namespaced",
      shortNames: names.shortNames ?? [],
      categories: names.categories ?? [],
      ...(version.deprecated && {
        deprecated: version.deprecationWarning ?? `${apiVersion} ${names.kind} is deprecated`,
      }),
    },
    schema: createCustomSchema({ group, version: version.name, kind: names.kind }, schema),
    strategy: createCustomStrategy(version, schema),
    columns: customColumns(version.additionalPrinterColumns),
    conversion: conversionOf({
      served: apiVersion,
      stored: `${group}/${options.stored}`,
      schema,
      webhook: options.webhook,
    }),
    ...(scale && { scale: customScale(scale) }),
    ...(options.isTerminating && { isTerminating: options.isTerminating }),
    subresources,
  });
}

function conversionOf(options: {
  served: string;
  stored: string;
  schema: OpenApiSchema;
  webhook: ConvertVersion | undefined;
}): StoredConversion {
  const { served, stored, schema, webhook } = options;
  return {
    needsWebhook: (apiVersion) => webhook !== undefined && apiVersion !== served,
    toServed(object) {
      object.apiVersion = served;
      // As upstream: objects that were stored with another schema get its defaults and lose fields it does not have.
      const content = object as unknown as JsonObject;
      pruneObject(content, schema);
      dropNulls(content, schema);
      applyDefaults(content, schema);
      return object;
    },
    toStored(object) {
      if (object.apiVersion === stored) return object;
      if (!webhook) return withApiVersion(object, stored);
      return webhook([object], stored).then(([converted]) => converted ?? object);
    },
    convert: (objects) => webhook?.(objects, served) ?? Promise.resolve(objects),
  };
}

function withApiVersion(object: KubeObject, apiVersion: string): KubeObject {
  const copy: JsonObject = {};
  for (const [key, value] of Object.entries(object)) define(copy, key, value);
  copy.apiVersion = apiVersion;
  return copy as unknown as KubeObject;
}
