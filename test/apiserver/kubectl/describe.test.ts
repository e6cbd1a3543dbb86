import { beforeAll, expect, test } from "vitest";
import { describeKubectl } from "../../support/kubectl/describe-kubectl.ts";
import { oneOfEach } from "../../support/kubectl/one-of-each.ts";

describeKubectl("kubectl describe", (cluster, tool) => {
  beforeAll(async () => {
    await cluster.apply(oneOfEach(tool));
    await cluster.ok([
      ...["patch", "node", `node-${tool}`, "--subresource=status", "--type=merge", "-p"],
      '{"status":{"capacity":{"cpu":"2","memory":"1Gi"},"allocatable":{"cpu":"1","memory":"640Mi"}}}',
    ]);
    const { metadata } = JSON.parse(await cluster.ok("get pod one -o json"));
    await cluster.server.json("POST", cluster.path("v1", "events"), {
      metadata: { name: "one.pulled" },
      involvedObject: {
        apiVersion: "v1",
        kind: "Pod",
        name: "one",
        namespace: cluster.namespace,
        uid: metadata.uid,
      },
      type: "Normal",
      reason: "Pulled",
      message: "the image was there",
      source: { component: "kubelet" },
      firstTimestamp: metadata.creationTimestamp,
      lastTimestamp: metadata.creationTimestamp,
      count: 2,
    });
  });

  test.each([
    [
      "pod one",
      /^Name: +one$/m,
      /^Node: +node-/m,
      /^ {4}Image: +nginx:1$/m,
      /^ {4}Startup: +http-get http:\/\/:80\/ready delay=0s timeout=1s period=10s #success=1 #failure=3$/m,
      /^QoS Class: +Burstable$/m,
      /^Tolerations: +node.kubernetes.io\/not-ready:NoExecute op=Exists for 300s$/m,
      /\/var\/run\/secrets\/kubernetes.io\/serviceaccount from kube-api-access-[a-z0-9]{5} \(ro\)$/m,
      /^ +Normal +Pulled +\S+ \(x2 over \S+\) +kubelet +the image was there$/m,
    ],
    [
      `node node-${tool}`,
      /^Roles: +worker$/m,
      /^Unschedulable: +false$/m,
      /^Non-terminated Pods: +\(1 in total\)$/m,
      /one +100m \(10%\) +0 \(0%\) +64Mi \(10%\)/,
    ],
    [
      "deployment one",
      /^Selector: +app=one$/m,
      /^Replicas: +2 desired \| 0 updated \| 0 total \| 0 available \| 0 unavailable$/m,
      /^RollingUpdateStrategy: +25% max unavailable, 25% max surge$/m,
    ],
    ["replicaset one", /^Replicas: +0 current \/ 2 desired$/m, /^ {4}Image: +nginx:1$/m],
    [
      "statefulset one",
      /^Replicas: +2 desired \| 0 total$/m,
      /^Update Strategy: +RollingUpdate$/m,
      /^ {2}Partition: +0$/m,
      /^Volume Claims:\n {2}Name: +data$/m,
    ],
    [
      "service one",
      /^Type: +ClusterIP$/m,
      /^IP Family Policy: +SingleStack$/m,
      /^IP Families: +IPv4$/m,
      /^IP: +10\.96\.\d+\.\d+$/m,
      /^TargetPort: +8080\/TCP$/m,
      /^Endpoints: +10\.1\.2\.3:8080$/m,
    ],
    ["persistentvolumeclaim one", /^Status: +Pending$/m, /^StorageClass: +fast-/m, /^Used By: +<none>$/m],
    [
      `persistentvolume volume-${tool}`,
      /^Reclaim Policy: +Retain$/m,
      /^Capacity: +1Gi$/m,
      /^ {4}Path: +\/data$/m,
    ],
    [`storageclass fast-${tool}`, /^Provisioner: +example.org\/disk$/m, /^VolumeBindingMode: +Immediate$/m],
    ["resourcequota one", /^Scopes: +Terminating$/m],
    ["limitrange one", /^PersistentVolumeClaim +storage +- +10Gi +- +- +-$/m],
    ["configmap one", /^key:\n----\nvalue$/m],
    ["secret one", /^Type: +Opaque$/m, /^password: +6 bytes$/m],
    ["serviceaccount one", /^Image pull secrets: +<none>$/m],
    ["role one", /^ {2}pods +\[\] +\[\] +\[get\]$/m],
    ["rolebinding one", /^ {2}Kind: +Role$/m, /^ {2}ServiceAccount +one *$/m],
    [`clusterrole role-${tool}`, /^ {2}pods +\[\] +\[\] +\[get\]$/m],
    [`clusterrolebinding binding-${tool}`, /^ {2}User +bob *$/m],
    ["poddisruptionbudget one", /^Min available: +1$/m, /^ +Allowed disruptions: +0$/m],
    [`priorityclass priority-${tool}`, /^Value: +7$/m, /^GlobalDefault: +false$/m],
    ["endpointslice one", /^AddressType: +IPv4$/m, /^ +- Addresses: +10\.1\.2\.3$/m],
    ["controllerrevision one", /^Revision: +3$/m],
    ["lease one", /^ {2}Holder Identity: +me$/m],
    [`runtimeclass runtime-${tool}`, /^Handler: +runc$/m],
    [`namespace with-${tool}`, /^Status: +Active$/m, /^Labels: +kubernetes.io\/metadata.name=with-/m],
  ])("%s", async (what, ...patterns) => {
    const text = await cluster.ok(`describe ${what}`);
    for (const pattern of patterns) expect(text).toMatch(pattern);
  });

  test("a missing object", async () => {
    expect(await cluster.fails("describe pod missing")).toBe(
      'Error from server (NotFound): pods "missing" not found\n',
    );
  });

  test("events are listed in both ways", async () => {
    expect(await cluster.ok("get events")).toMatch(/^\S+ +Normal +Pulled +pod\/one +the image was there$/m);
    expect(await cluster.ok("get events -o wide")).toMatch(
      /kubelet +the image was there +\S+ +2 +one.pulled$/m,
    );
    expect(
      await cluster.ok("get events --field-selector=involvedObject.name=one,reason=Pulled -o name"),
    ).toBe("event/one.pulled\n");
    expect(await cluster.ok("events --for=pod/one")).toMatch(
      /Normal +Pulled +Pod\/one +the image was there$/m,
    );
    expect(await cluster.ok("get events.events.k8s.io one.pulled -o jsonpath={.note}")).toBe(
      "the image was there",
    );
  });
});
