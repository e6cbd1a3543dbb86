import { useMemo } from "preact/hooks";
import type { NodeView } from "../../../src/monitor/feed/feed-message.ts";
import { createFilter } from "../text/create-filter.ts";
import { Empty, NoMatch } from "../view/empty.tsx";

export function NodesPanel(props: {
  readonly nodes: readonly NodeView[];
  readonly filter: string;
  readonly onClearFilter: () => void;
}) {
  const shown = useMemo(() => {
    const matches = createFilter(props.filter);
    return props.nodes
      .filter(({ name }) => matches(name))
      .sort(
        (a, b) =>
          Number(a.ready) - Number(b.ready) || b.starting - a.starting || a.name.localeCompare(b.name),
      );
  }, [props.nodes, props.filter]);
  if (props.nodes.length === 0) {
    return (
      <Empty title="No nodes are registered." command="kindling kubelet --kubeconfig FILE --node-name NAME">
        Pods cannot run without a node. Start a kubelet for this cluster:
      </Empty>
    );
  }
  if (shown.length === 0) return <NoMatch filter={props.filter} onClear={props.onClearFilter} />;
  return (
    <div class="scroll">
      <div class="table-scroll card">
        <table class="nodes">
          <caption class="offscreen">Nodes</caption>
          <thead>
            <tr>
              <th scope="col">Node</th>
              <th scope="col">Health</th>
              <th scope="col" class="number">
                Starting
              </th>
              <th scope="col" class="number">
                Pods
              </th>
              <th scope="col">Runtime</th>
              <th scope="col" class="wide-only">
                Kubelet
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((node) => (
              <tr key={node.name}>
                <th scope="row">
                  <bdi>{node.name}</bdi>
                </th>
                <td>
                  <span class={`dot tone-${node.ready ? "ready" : "failing"}`} aria-hidden="true" />
                  {node.ready ? "ready" : "not ready"}
                </td>
                <td class="number">{node.starting.toLocaleString("en")}</td>
                <td class="number">{node.pods.toLocaleString("en")}</td>
                <td>
                  <bdi>{node.runtime}</bdi>
                </td>
                <td class="wide-only">
                  <bdi>{node.kubelet}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
