import type { ClusterRoleBinding, RoleBinding } from "../../api/objects.ts";
import { ageColumn, column, nameColumn, type Sparse, type TableLayout, wideColumn } from "./table-layout.ts";

type Binding = RoleBinding | ClusterRoleBinding;

/** For bindings in a namespace and for those of the whole cluster. */
export const roleBindingTable: TableLayout<Binding> = {
  columns: [
    nameColumn,
    column("Role", "What is granted", ({ roleRef }) => `${roleRef?.kind ?? ""}/${roleRef?.name ?? ""}`),
    ageColumn,
    wideColumn("Users", "Users who are granted it", (binding) => subjectsOf(binding, "User")),
    wideColumn("Groups", "Groups that are granted it", (binding) => subjectsOf(binding, "Group")),
    wideColumn("ServiceAccounts", "Service accounts that are granted it", (binding) =>
      subjectsOf(binding, "ServiceAccount"),
    ),
  ],
};

function subjectsOf({ subjects = [] }: Sparse<Binding>, wanted: string): string {
  return subjects
    .filter(({ kind }) => kind === wanted)
    .map(({ namespace = "", name }) => (wanted === "ServiceAccount" ? `${namespace}/${name}` : name))
    .join(", ");
}
