/** Whether one resource version comes after another. Kubernetes orders them as numbers; what is none is not newer. */
export function isNewerVersion(version: string | undefined, than: string | undefined): boolean {
  if (!version || !/^\d+$/.test(version)) return false;
  if (!than || !/^\d+$/.test(than)) return true;
  return version.length === than.length ? version > than : version.length > than.length;
}
