/** Values that fields accept, comma-separated; of a list or a map, the values of its items. The models of the client
 * package do not contain them; `kubectl explain` shows them. */
export const enums: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "apps.v1.DaemonSetUpdateStrategy": {
    type: "OnDelete,RollingUpdate",
  },
  "apps.v1.DeploymentStrategy": {
    type: "Recreate,RollingUpdate",
  },
  "apps.v1.StatefulSetSpec": {
    podManagementPolicy: "OrderedReady,Parallel",
  },
  "apps.v1.StatefulSetUpdateStrategy": {
    type: "EnforcedRollingUpdate,OnDelete,RollingUpdate",
  },
  "batch.v1.CronJobSpec": {
    concurrencyPolicy: "Allow,Forbid,Replace",
  },
  "batch.v1.JobSpec": {
    completionMode: "Indexed,NonIndexed",
    podReplacementPolicy: "Failed,TerminatingOrFailed",
  },
  "batch.v1.PodFailurePolicyOnExitCodesRequirement": {
    operator: "In,NotIn",
  },
  "batch.v1.PodFailurePolicyRule": {
    action: "Count,FailIndex,FailJob,Ignore",
  },
  "core.v1.AppArmorProfile": {
    type: "Localhost,RuntimeDefault,Unconfined",
  },
  "core.v1.AzureDiskVolumeSource": {
    cachingMode: "None,ReadOnly,ReadWrite",
    kind: "Dedicated,Managed,Shared",
  },
  "core.v1.Container": {
    imagePullPolicy: "Always,IfNotPresent,Never",
    terminationMessagePolicy: "FallbackToLogsOnError,File",
  },
  "core.v1.ContainerPort": {
    protocol: "SCTP,TCP,UDP",
  },
  "core.v1.EndpointPort": {
    protocol: "SCTP,TCP,UDP",
  },
  "core.v1.EphemeralContainer": {
    imagePullPolicy: "Always,IfNotPresent,Never",
    terminationMessagePolicy: "FallbackToLogsOnError,File",
  },
  "core.v1.HTTPGetAction": {
    scheme: "HTTP,HTTPS",
  },
  "core.v1.HostPathVolumeSource": {
    type: ",BlockDevice,CharDevice,Directory,DirectoryOrCreate,File,FileOrCreate,Socket",
  },
  "core.v1.ImageVolumeSource": {
    pullPolicy: "Always,IfNotPresent,Never",
  },
  "core.v1.ModifyVolumeStatus": {
    status: "InProgress,Infeasible,Pending",
  },
  "core.v1.NamespaceStatus": {
    phase: "Active,Terminating",
  },
  "core.v1.NodeSelectorRequirement": {
    operator: "DoesNotExist,Exists,Gt,In,Lt,NotIn",
  },
  "core.v1.NodeStatus": {
    phase: "Pending,Running,Terminated",
  },
  "core.v1.PersistentVolumeClaimSpec": {
    accessModes: "ReadOnlyMany,ReadWriteMany,ReadWriteOnce,ReadWriteOncePod",
    volumeMode: "Block,Filesystem",
  },
  "core.v1.PersistentVolumeClaimStatus": {
    accessModes: "ReadOnlyMany,ReadWriteMany,ReadWriteOnce,ReadWriteOncePod",
    allocatedResourceStatuses:
      "ControllerResizeInProgress,ControllerResizeInfeasible,NodeResizeInProgress,NodeResizeInfeasible,NodeResizePending",
    phase: "Bound,Lost,Pending",
  },
  "core.v1.PersistentVolumeSpec": {
    accessModes: "ReadOnlyMany,ReadWriteMany,ReadWriteOnce,ReadWriteOncePod",
    persistentVolumeReclaimPolicy: "Delete,Recycle,Retain",
    volumeMode: "Block,Filesystem",
  },
  "core.v1.PersistentVolumeStatus": {
    phase: "Available,Bound,Failed,Pending,Released",
  },
  "core.v1.PodSecurityContext": {
    fsGroupChangePolicy: "Always,OnRootMismatch",
    supplementalGroupsPolicy: "Merge,Strict",
  },
  "core.v1.PodSpec": {
    dnsPolicy: "ClusterFirst,ClusterFirstWithHostNet,Default,None",
    preemptionPolicy: "Never,PreemptLowerPriority",
    restartPolicy: "Always,Never,OnFailure",
  },
  "core.v1.PodStatus": {
    phase: "Failed,Pending,Running,Succeeded,Unknown",
    qosClass: "BestEffort,Burstable,Guaranteed",
  },
  "core.v1.PortStatus": {
    protocol: "SCTP,TCP,UDP",
  },
  "core.v1.ScopedResourceSelectorRequirement": {
    operator: "DoesNotExist,Exists,In,NotIn",
    scopeName:
      "BestEffort,CrossNamespacePodAffinity,NotBestEffort,NotTerminating,PriorityClass,Terminating,VolumeAttributesClass",
  },
  "core.v1.SeccompProfile": {
    type: "Localhost,RuntimeDefault,Unconfined",
  },
  "core.v1.SecurityContext": {
    procMount: "Default,Unmasked",
  },
  "core.v1.ServicePort": {
    protocol: "SCTP,TCP,UDP",
  },
  "core.v1.ServiceSpec": {
    externalTrafficPolicy: "Cluster,Local",
    internalTrafficPolicy: "Cluster,Local",
    ipFamilies: ",IPv4,IPv6",
    ipFamilyPolicy: "PreferDualStack,RequireDualStack,SingleStack",
    sessionAffinity: "ClientIP,None",
    type: "ClusterIP,ExternalName,LoadBalancer,NodePort",
  },
  "core.v1.Taint": {
    effect: "NoExecute,NoSchedule,PreferNoSchedule",
  },
  "core.v1.Toleration": {
    effect: "NoExecute,NoSchedule,PreferNoSchedule",
    operator: "Equal,Exists,Gt,Lt",
  },
  "core.v1.TopologySpreadConstraint": {
    nodeAffinityPolicy: "Honor,Ignore",
    nodeTaintsPolicy: "Honor,Ignore",
    whenUnsatisfiable: "DoNotSchedule,ScheduleAnyway",
  },
  "core.v1.VolumeMount": {
    mountPropagation: "Bidirectional,HostToContainer,None",
  },
  "discovery.v1.EndpointPort": {
    protocol: "SCTP,TCP,UDP",
  },
  "discovery.v1.EndpointSlice": {
    addressType: "FQDN,IPv4,IPv6",
  },
  "networking.v1.HTTPIngressPath": {
    pathType: "Exact,ImplementationSpecific,Prefix",
  },
  "networking.v1.IngressPortStatus": {
    protocol: "SCTP,TCP,UDP",
  },
  "networking.v1.NetworkPolicyPort": {
    protocol: "SCTP,TCP,UDP",
  },
  "networking.v1.NetworkPolicySpec": {
    policyTypes: "Egress,Ingress",
  },
  "policy.v1.PodDisruptionBudgetSpec": {
    unhealthyPodEvictionPolicy: "AlwaysAllow,IfHealthyBudget",
  },
  "scheduling.v1.PriorityClass": {
    preemptionPolicy: "Never,PreemptLowerPriority",
  },
  "storage.v1.StorageClass": {
    reclaimPolicy: "Delete,Recycle,Retain",
    volumeBindingMode: "Immediate,WaitForFirstConsumer",
  },
};
