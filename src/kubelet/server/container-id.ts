/** The id as the runtime knows it, of `containerd://id` as statuses have it. */
export function runtimeContainerId(containerId: string): string {
  return containerId.replace(/^[^/]*:\/\//, "");
}
