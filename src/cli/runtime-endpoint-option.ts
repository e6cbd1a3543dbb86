import { Option } from "commander";

export const defaultRuntimeEndpoint = "unix:///run/kindling/runtime.sock";

/** `--runtime-endpoint`, with crictl's variable as the second choice. */
export const runtimeEndpointOption = (defaultInWords = defaultRuntimeEndpoint) =>
  new Option("--runtime-endpoint <unix:///path>", "the CRI socket of the runtime: ours, containerd, CRI-O")
    .env("CONTAINER_RUNTIME_ENDPOINT")
    .default(defaultRuntimeEndpoint, defaultInWords);
