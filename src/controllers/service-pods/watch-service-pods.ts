import type { Pod, Service } from "../../api/objects.ts";
import { keyOf } from "../../client/object-key.ts";
import type { Informers } from "../informers.ts";
import { isSelected, looksDifferent, selectsPods } from "./endpoint-pod.ts";

/** Adds the keys of services that change, and of those whose pods do. */
export function watchServicePods(informers: Informers, queue: { add(key: string): void }): void {
  const services = informers.of("services");

  function addServicesOf(pod: Pod): void {
    for (const service of services.byIndex("namespace", pod.metadata.namespace ?? "")) {
      if (selectsPods(service) && isSelected(pod, service)) queue.add(keyOf(service));
    }
  }

  services.onChange(({ object }) => queue.add(keyOf(object)));
  informers.of("pods").onChange((change) => {
    if (change.kind === "changed") {
      if (!looksDifferent(change.object, change.previous)) return;
      // It may have left a service by changing its labels.
      addServicesOf(change.previous);
    }
    addServicesOf(change.object);
  });
}

/** The pods that a service leads to, in the order of their names. */
export function podsBehind(informers: Informers, service: Service): Pod[] {
  return informers
    .of("pods")
    .byIndex("namespace", service.metadata.namespace ?? "")
    .filter((pod) => isSelected(pod, service))
    .sort((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
}
