import { brokenImage, readyPods, type StatefulSetCluster } from "./stateful-set-cluster.ts";

/** A set of three whose update to a template that does not work has come as far as it can. */
export async function createBroken(
  cluster: StatefulSetCluster,
  name: string,
  { spec, image = brokenImage }: { readonly spec: Record<string, unknown>; readonly image?: string },
): Promise<void> {
  await cluster.create(name, { replicas: 3, spec });
  await cluster.untilPicture(name, readyPods(name, 3));
  await cluster.setImage(name, image);
  await cluster.untilPicture(name, [...readyPods(name, 2), `${name}-2=${image} waiting`]);
}
