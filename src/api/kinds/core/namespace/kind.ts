import { FieldErrors } from "../../../meta/field-errors.ts";
import { qualifiedNameProblems } from "../../../meta/names.ts";
import type { Namespace } from "../../../meta/objects.ts";
import { ageColumn, column, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, type Strategy } from "../../strategy.ts";

/** Keeps a namespace until the namespace controller has deleted its contents. */
const kubernetesFinalizer = "kubernetes";

const strategy: Strategy<Namespace> = {
  nameRule: "dnsLabel",

  applyDefaults(namespace) {
    const { metadata } = namespace;
    if (metadata.name) {
      metadata.labels = { ...metadata.labels, "kubernetes.io/metadata.name": metadata.name };
    }
    namespace.status ??= {};
    namespace.status.phase ||= "Active";
  },

  prepareForCreate(next) {
    next.status = { phase: "Active" };
    const finalizers = next.spec?.finalizers ?? [];
    next.spec = {
      finalizers: finalizers.includes(kubernetesFinalizer)
        ? finalizers
        : [...finalizers, kubernetesFinalizer],
    };
  },

  prepareForUpdate(next, current) {
    keepField(next, current, "spec");
    keepField(next, current, "status");
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
  },

  validate({ spec }) {
    const at = new FieldErrors("spec");
    for (const finalizer of spec?.finalizers ?? []) {
      at.problems("finalizers", finalizer, qualifiedNameProblems(finalizer));
      if (!finalizer.includes("/") && finalizer !== kubernetesFinalizer) {
        const detail = "name is neither a standard finalizer name nor is it fully qualified";
        at.invalid("finalizers", finalizer, detail);
      }
    }
    return at.errors;
  },

  validateStatusUpdate({ metadata, status }) {
    const at = new FieldErrors("status");
    const deleting = metadata.deletionTimestamp !== undefined;
    const expected = deleting ? "Terminating" : "Active";
    if (status?.phase !== expected) {
      const state = deleting ? "not empty" : "empty";
      at.invalid(
        "Phase",
        status?.phase ?? "",
        `may only be '${expected}' if \`deletionTimestamp\` is ${state}`,
      );
    }
    return at.errors;
  },

  /** The namespace controller deletes the contents first and then removes its finalizer. */
  beginDeletion(namespace) {
    namespace.status = { ...namespace.status, phase: "Terminating" };
    return namespace.spec?.finalizers?.length ? "hold" : "go";
  },

  selectableFields: { "status.phase": ({ status }) => status?.phase ?? "" },
};

export const namespaceKind = defineKind<Namespace>({
  resource: {
    group: "",
    version: "v1",
    plural: "namespaces",
    kind: "Namespace",
    namespaced: false,
    shortNames: ["ns"],
  },
  subresources: ["status", "finalize"],
  strategy,
  columns: [
    nameColumn,
    column("Status", "Active or Terminating", ({ status }) => status?.phase ?? ""),
    ageColumn,
  ],
});
