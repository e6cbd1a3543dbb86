// Facts about fields of upstream 1.36 that the models of @kubernetes/client-node do not contain, by definition.

/** Definitions of `meta/v1`. */
export const metaDefinitions = names(`
  Condition DeleteOptions FieldSelectorRequirement LabelSelector LabelSelectorRequirement ListMeta ManagedFieldsEntry
  ObjectMeta OwnerReference Preconditions ShardInfo Status StatusCause StatusDetails
`);

/** Definitions of `core/v1` that only other groups refer to. */
export const coreDefinitions = names("PodTemplateSpec TopologySelectorLabelRequirement TopologySelectorTerm");

/** Kinds of requests and responses that are never stored, so that built-in-kinds.ts does not list them. */
export const unstoredKinds = {
  "": ["Binding"],
  autoscaling: ["Scale"],
  policy: ["Eviction"],
  "authentication.k8s.io": ["TokenRequest", "TokenReview", "SelfSubjectReview"],
  "authorization.k8s.io": [
    "SubjectAccessReview",
    "SelfSubjectAccessReview",
    "LocalSubjectAccessReview",
    "SelfSubjectRulesReview",
  ],
};

/** Strings, or maps of strings, that are quantities. */
export const quantityFields = table(`
  core.v1.ContainerStatus: allocatedResources
  core.v1.EmptyDirVolumeSource: sizeLimit
  core.v1.LimitRangeItem: default defaultRequest max maxLimitRequestRatio min
  core.v1.NodeAllocatableResourceClaimStatus: resources
  core.v1.NodeStatus: allocatable capacity
  core.v1.PersistentVolumeClaimStatus: allocatedResources capacity
  core.v1.PersistentVolumeSpec: capacity
  core.v1.PodSpec: overhead
  core.v1.PodStatus: allocatedResources
  core.v1.ResourceFieldSelector: divisor
  core.v1.ResourceQuotaSpec: hard
  core.v1.ResourceQuotaStatus: hard used
  core.v1.ResourceRequirements: limits requests
  core.v1.VolumeResourceRequirements: limits requests
  node.v1.Overhead: podFixed
`);

/** Optional fields whose empty value (0, "", false, []) is kept: pointers in Go. */
export const pointerFields = table(`
  admissionregistration.v1.MutatingWebhook: failurePolicy matchPolicy reinvocationPolicy sideEffects timeoutSeconds
  admissionregistration.v1.RuleWithOperations: scope
  admissionregistration.v1.ServiceReference: path port
  admissionregistration.v1.ValidatingWebhook: failurePolicy matchPolicy sideEffects timeoutSeconds
  admissionregistration.v1.WebhookClientConfig: url
  apiextensions.v1.CustomResourceConversion: strategy
  apiextensions.v1.CustomResourceDefinitionStatus: acceptedNames conditions storedVersions
  apiextensions.v1.CustomResourceDefinitionVersion: deprecationWarning
  apiextensions.v1.CustomResourceSubresourceScale: labelSelectorPath
  apiextensions.v1.JSONSchemaProps: default example maxItems maxLength maxProperties maximum minItems minLength minProperties
  apiextensions.v1.JSONSchemaProps: minimum multipleOf x-kubernetes-list-type x-kubernetes-map-type
  apiextensions.v1.JSONSchemaProps: x-kubernetes-preserve-unknown-fields
  apiextensions.v1.ServiceReference: path port
  apiextensions.v1.ValidationRule: optionalOldSelf reason
  apiextensions.v1.WebhookClientConfig: url
  apps.v1.DaemonSetSpec: revisionHistoryLimit
  apps.v1.DaemonSetStatus: collisionCount
  apps.v1.DeploymentSpec: progressDeadlineSeconds replicas revisionHistoryLimit
  apps.v1.DeploymentStatus: collisionCount terminatingReplicas
  apps.v1.ReplicaSetSpec: replicas
  apps.v1.ReplicaSetStatus: terminatingReplicas
  apps.v1.RollingUpdateStatefulSetStrategy: partition
  apps.v1.StatefulSetOrdinals: start
  apps.v1.StatefulSetSpec: replicas revisionHistoryLimit serviceName
  apps.v1.StatefulSetStatus: availableReplicas collisionCount
  authentication.v1.TokenRequestSpec: audiences expirationSeconds
  authentication.v1.TokenRequestStatus: token
  batch.v1.CronJobSpec: failedJobsHistoryLimit startingDeadlineSeconds successfulJobsHistoryLimit suspend timeZone
  batch.v1.JobSpec: activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions managedBy manualSelector
  batch.v1.JobSpec: maxFailedIndexes parallelism podReplacementPolicy suspend ttlSecondsAfterFinished
  batch.v1.JobStatus: failedIndexes ready terminating
  batch.v1.PodFailurePolicyOnExitCodesRequirement: containerName
  batch.v1.SuccessPolicyRule: succeededCount succeededIndexes
  coordination.v1.LeaseSpec: holderIdentity leaseDurationSeconds leaseTransitions preferredHolder strategy
  core.v1.AppArmorProfile: localhostProfile
  core.v1.AzureDiskVolumeSource: cachingMode fsType kind readOnly
  core.v1.AzureFilePersistentVolumeSource: secretNamespace
  core.v1.CSIVolumeSource: fsType readOnly
  core.v1.ClientIPConfig: timeoutSeconds
  core.v1.ClusterTrustBundleProjection: name optional signerName
  core.v1.ConfigMap: immutable
  core.v1.ConfigMapEnvSource: optional
  core.v1.ConfigMapKeySelector: optional
  core.v1.ConfigMapProjection: optional
  core.v1.ConfigMapVolumeSource: defaultMode optional
  core.v1.Container: restartPolicy
  core.v1.ContainerImage: names
  core.v1.ContainerStatus: started stopSignal
  core.v1.DownwardAPIVolumeFile: mode
  core.v1.DownwardAPIVolumeSource: defaultMode
  core.v1.EndpointAddress: nodeName
  core.v1.EndpointPort: appProtocol
  core.v1.EphemeralContainer: restartPolicy
  core.v1.Event: reportingComponent reportingInstance
  core.v1.FCVolumeSource: lun
  core.v1.FileKeySelector: optional
  core.v1.GRPCAction: service
  core.v1.GlusterfsPersistentVolumeSource: endpointsNamespace
  core.v1.HostPathVolumeSource: type
  core.v1.ISCSIPersistentVolumeSource: initiatorName
  core.v1.ISCSIVolumeSource: initiatorName
  core.v1.KeyToPath: mode
  core.v1.Lifecycle: stopSignal
  core.v1.LoadBalancerIngress: ipMode
  core.v1.LocalVolumeSource: fsType
  core.v1.NodeFeatures: supplementalGroupsPolicy
  core.v1.NodeRuntimeHandler: name
  core.v1.NodeRuntimeHandlerFeatures: recursiveReadOnlyMounts userNamespaces
  core.v1.NodeSwapStatus: capacity
  core.v1.PersistentVolumeClaimSpec: storageClassName volumeAttributesClassName volumeMode
  core.v1.PersistentVolumeClaimStatus: currentVolumeAttributesClassName
  core.v1.PersistentVolumeSpec: volumeAttributesClassName volumeMode
  core.v1.PodCertificateProjection: maxExpirationSeconds
  core.v1.PodDNSConfigOption: value
  core.v1.PodResourceClaim: resourceClaimName resourceClaimTemplateName
  core.v1.PodResourceClaimStatus: resourceClaimName
  core.v1.PodSchedulingGroup: podGroupName
  core.v1.PodSecurityContext: fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser seLinuxChangePolicy supplementalGroupsPolicy
  core.v1.PodSpec: activeDeadlineSeconds automountServiceAccountToken enableServiceLinks hostUsers hostnameOverride preemptionPolicy
  core.v1.PodSpec: priority runtimeClassName setHostnameAsFQDN shareProcessNamespace terminationGracePeriodSeconds
  core.v1.PortStatus: error
  core.v1.Probe: terminationGracePeriodSeconds
  core.v1.ProjectedVolumeSource: defaultMode sources
  core.v1.ResourceHealth: message
  core.v1.SeccompProfile: localhostProfile
  core.v1.Secret: immutable
  core.v1.SecretEnvSource: optional
  core.v1.SecretKeySelector: optional
  core.v1.SecretProjection: optional
  core.v1.SecretVolumeSource: defaultMode optional
  core.v1.SecurityContext: allowPrivilegeEscalation privileged procMount readOnlyRootFilesystem runAsGroup runAsNonRoot runAsUser
  core.v1.ServiceAccount: automountServiceAccountToken
  core.v1.ServiceAccountTokenProjection: expirationSeconds
  core.v1.ServicePort: appProtocol
  core.v1.ServiceSpec: allocateLoadBalancerNodePorts internalTrafficPolicy ipFamilyPolicy loadBalancerClass trafficDistribution
  core.v1.Toleration: tolerationSeconds
  core.v1.TopologySpreadConstraint: minDomains nodeAffinityPolicy nodeTaintsPolicy
  core.v1.TypedLocalObjectReference: apiGroup
  core.v1.TypedObjectReference: apiGroup namespace
  core.v1.VolumeMount: mountPropagation recursiveReadOnly
  core.v1.VolumeMountStatus: recursiveReadOnly
  core.v1.WindowsSecurityContextOptions: gmsaCredentialSpec gmsaCredentialSpecName hostProcess runAsUserName
  discovery.v1.Endpoint: hostname nodeName zone
  discovery.v1.EndpointConditions: ready serving terminating
  discovery.v1.EndpointPort: appProtocol name port protocol
  discovery.v1.EndpointSlice: endpoints ports
  meta.v1.DeleteOptions: gracePeriodSeconds ignoreStoreReadErrorWithClusterBreakingPotential orphanDependents propagationPolicy
  meta.v1.ListMeta: remainingItemCount
  meta.v1.ObjectMeta: deletionGracePeriodSeconds
  meta.v1.OwnerReference: blockOwnerDeletion controller
  meta.v1.Preconditions: resourceVersion uid
  networking.v1.HTTPIngressPath: pathType
  networking.v1.IngressClassParametersReference: apiGroup namespace scope
  networking.v1.IngressPortStatus: error
  networking.v1.IngressSpec: ingressClassName
  networking.v1.NetworkPolicyPort: endPort protocol
  policy.v1.PodDisruptionBudgetSpec: unhealthyPodEvictionPolicy
  policy.v1.PodDisruptionBudgetStatus: currentHealthy desiredHealthy disruptionsAllowed expectedPods
  rbac.v1.ClusterRole: rules
  rbac.v1.Role: rules
  rbac.v1.RoleRef: apiGroup
  scheduling.v1.PriorityClass: preemptionPolicy value
  storage.v1.StorageClass: allowVolumeExpansion reclaimPolicy volumeBindingMode
`);

/** Fields that are an object of their type or, in rejected or special cases, any other JSON: a list, or true. */
export const looseFields = table(`
  apiextensions.v1.JSONSchemaProps: additionalItems additionalProperties items
`);

/** Struct fields that Go always writes, as {} if they are empty. All metadata, spec and status are too. */
export const valueFields = table(`
  admissionregistration.v1.MutatingWebhook: clientConfig
  admissionregistration.v1.ValidatingWebhook: clientConfig
  apps.v1.DaemonSetSpec: template updateStrategy
  apps.v1.DeploymentSpec: strategy template
  apps.v1.ReplicaSetSpec: template
  apps.v1.StatefulSetSpec: template updateStrategy
  authentication.v1.SelfSubjectReviewStatus: userInfo
  authentication.v1.TokenReviewStatus: user
  batch.v1.CronJobSpec: jobTemplate
  batch.v1.JobSpec: template
  core.v1.Binding: target
  core.v1.Container: resources
  core.v1.ContainerStatus: lastState state
  core.v1.EphemeralContainer: resources
  core.v1.Event: involvedObject source
  core.v1.NodeDaemonEndpoints: kubeletEndpoint
  core.v1.NodeStatus: daemonEndpoints nodeInfo
  core.v1.PersistentVolumeClaimSpec: resources
  core.v1.PreferredSchedulingTerm: preference
  core.v1.ServiceStatus: loadBalancer
  core.v1.WeightedPodAffinityTerm: podAffinityTerm
  discovery.v1.Endpoint: conditions
  events.v1.Event: deprecatedSource regarding
  networking.v1.HTTPIngressPath: backend
  networking.v1.IngressServiceBackend: port
  networking.v1.IngressStatus: loadBalancer
  networking.v1.NetworkPolicySpec: podSelector
  rbac.v1.ClusterRoleBinding: roleRef
  rbac.v1.RoleBinding: roleRef
`);

function names(text) {
  return new Set(text.trim().split(/\s+/));
}

/** `definition: field field` lines, as a set of `definition field`. */
function table(text) {
  const fields = text
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [definition, list] = line.trim().split(": ");
      return list.split(" ").map((field) => `${definition} ${field}`);
    });
  return new Set(fields);
}
