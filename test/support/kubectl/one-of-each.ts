/** An object of every kind that users write, with enough in it for each column and each line of a description. */
export function oneOfEach(suffix: string): string {
  return `
apiVersion: v1
kind: Node
metadata: { name: node-${suffix}, labels: { node-role.kubernetes.io/worker: "" } }
---
apiVersion: v1
kind: PersistentVolume
metadata: { name: volume-${suffix} }
spec:
  capacity: { storage: 1Gi }
  accessModes: [ReadWriteOnce]
  hostPath: { path: /data }
  storageClassName: fast-${suffix}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: { name: fast-${suffix} }
provisioner: example.org/disk
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: { name: runtime-${suffix} }
handler: runc
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: { name: priority-${suffix} }
value: 7
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: role-${suffix} }
rules: [{ apiGroups: [""], resources: [pods], verbs: [get] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: binding-${suffix} }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: role-${suffix} }
subjects: [{ kind: User, name: bob, apiGroup: rbac.authorization.k8s.io }]
---
apiVersion: v1
kind: ConfigMap
metadata: { name: one }
data: { key: value }
---
apiVersion: v1
kind: Secret
metadata: { name: one }
stringData: { password: sesame }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: one }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: one }
spec: { accessModes: [ReadWriteOnce], storageClassName: fast-${suffix}, resources: { requests: { storage: 1Gi } } }
---
apiVersion: v1
kind: Service
metadata: { name: one }
spec: { selector: { app: one }, ports: [{ port: 80, targetPort: 8080 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: one, labels: { kubernetes.io/service-name: one } }
addressType: IPv4
ports: [{ port: 8080 }]
endpoints: [{ addresses: [10.1.2.3], conditions: { ready: true } }]
---
apiVersion: v1
kind: Pod
metadata: { name: one, labels: { app: one } }
spec:
  nodeName: node-${suffix}
  containers:
    - name: main
      image: nginx:1
      startupProbe: { httpGet: { port: 80, path: /ready } }
      resources: { requests: { cpu: 100m, memory: 64Mi }, limits: { memory: 64Mi } }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: one }
spec:
  replicas: 2
  selector: { matchLabels: { app: one } }
  template:
    metadata: { labels: { app: one } }
    spec: { containers: [{ name: main, image: "nginx:1" }] }
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: { name: one }
spec:
  replicas: 2
  selector: { matchLabels: { app: one } }
  template:
    metadata: { labels: { app: one } }
    spec: { containers: [{ name: main, image: "nginx:1" }] }
---
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: one }
spec:
  selector: { matchLabels: { app: one } }
  template:
    metadata: { labels: { app: one } }
    spec: { nodeSelector: { disk: ssd }, containers: [{ name: main, image: "nginx:1" }] }
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: one }
spec:
  serviceName: one
  replicas: 2
  selector: { matchLabels: { app: one } }
  template:
    metadata: { labels: { app: one } }
    spec: { containers: [{ name: main, image: "nginx:1" }] }
  volumeClaimTemplates:
    - metadata: { name: data }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
---
apiVersion: v1
kind: ResourceQuota
metadata: { name: one }
spec: { hard: { pods: "100", limits.cpu: "10" }, scopes: [Terminating] }
---
apiVersion: v1
kind: LimitRange
metadata: { name: one }
spec: { limits: [{ type: PersistentVolumeClaim, max: { storage: 10Gi } }] }
---
apiVersion: apps/v1
kind: ControllerRevision
metadata: { name: one }
revision: 3
data: { spec: {} }
---
apiVersion: batch/v1
kind: Job
metadata: { name: one }
spec:
  template: { spec: { restartPolicy: Never, containers: [{ name: main, image: "nginx:1" }] } }
---
apiVersion: batch/v1
kind: CronJob
metadata: { name: one }
spec:
  schedule: "*/5 * * * *"
  jobTemplate:
    spec: { template: { spec: { restartPolicy: Never, containers: [{ name: main, image: "nginx:1" }] } } }
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: one }
spec: { minAvailable: 1, selector: { matchLabels: { app: one } } }
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: { name: one }
spec: { holderIdentity: me }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: one }
rules: [{ apiGroups: [""], resources: [pods], verbs: [get] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: one }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: one }
subjects: [{ kind: ServiceAccount, name: one }]
`;
}
