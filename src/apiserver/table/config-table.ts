import type { ConfigMap, Lease, Namespace, PriorityClass, RuntimeClass, Secret } from "../../api/objects.ts";
import { ageColumn, column, integerColumn, nameColumn, type TableLayout } from "./table-layout.ts";

// Kinds whose cells are their fields as they are.

export const namespaceTable: TableLayout<Namespace> = {
  columns: [
    nameColumn,
    column("Status", "Active or Terminating", ({ status }) => status?.phase ?? ""),
    ageColumn,
  ],
};

export const configMapTable: TableLayout<ConfigMap> = {
  columns: [
    nameColumn,
    column("Data", "Number of entries", ({ data, binaryData }) => countKeys(data) + countKeys(binaryData)),
    ageColumn,
  ],
};

export const secretTable: TableLayout<Secret> = {
  columns: [
    nameColumn,
    column("Type", "What the secret is for", ({ type }) => type ?? ""),
    column("Data", "Number of entries", ({ data }) => countKeys(data)),
    ageColumn,
  ],
};

export const serviceAccountTable: TableLayout = { columns: [nameColumn, ageColumn] };

export const leaseTable: TableLayout<Lease> = {
  columns: [
    nameColumn,
    column("Holder", "Who holds the lease", ({ spec }) => spec?.holderIdentity ?? ""),
    ageColumn,
  ],
};

export const runtimeClassTable: TableLayout<RuntimeClass> = {
  columns: [
    nameColumn,
    column("Handler", "What the runtime knows the class as", ({ handler }) => handler ?? ""),
    ageColumn,
  ],
};

export const priorityClassTable: TableLayout<PriorityClass> = {
  columns: [
    nameColumn,
    integerColumn("Value", "Priority; higher goes first", ({ value }) => value ?? 0),
    column(
      "Global-Default",
      "Whether pods without a class get this one",
      ({ globalDefault }) => globalDefault ?? false,
      { type: "boolean" },
    ),
    ageColumn,
    column(
      "PreemptionPolicy",
      "Whether pods of the class push others out",
      ({ preemptionPolicy }) => preemptionPolicy ?? "",
    ),
  ],
};

/** For kinds that have no layout of their own; upstream shows roles so. */
export const plainTable: TableLayout = {
  columns: [
    nameColumn,
    column(
      "Created At",
      "When the object was created",
      ({ metadata }) => metadata.creationTimestamp ?? "0001-01-01T00:00:00Z",
      { type: "date" },
    ),
  ],
};

function countKeys(data: object = {}): number {
  return Object.keys(data).length;
}
