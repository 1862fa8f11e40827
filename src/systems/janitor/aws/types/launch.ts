import type { LaunchConfiguration } from '@aws-sdk/client-auto-scaling'
import type { LaunchTemplate } from '@aws-sdk/client-ec2'
import { unused, used } from '../../model/resource.ts'
import { applicationOf, tagsOf, timeOf } from '../read/aws-type.ts'
import { defineType } from '../read/define-type.ts'
import { tagEc2 } from '../read/ec2-tags.ts'
import { Evidence, templatesOf } from '../read/evidence.ts'
import { listCompletely } from '../read/listing.ts'

const unusedByGroups = unused('no auto-scaling group uses it')

/** Launch configurations. In use when an auto-scaling group names them, or one of its instances was started from them. */
export const launchConfigurationType = defineType<LaunchConfiguration>({
  name: 'launchConfiguration',
  absent: [],

  all: (session) => new Evidence(session).launchConfigurations(),
  async one({ sdk, autoScaling }, id) {
    const command = new sdk.autoScaling.DescribeLaunchConfigurationsCommand({ LaunchConfigurationNames: [id] })
    return (await autoScaling.send(command)).LaunchConfigurations?.[0]
  },
  describe(raw) {
    const id = raw.LaunchConfigurationName ?? ''
    const createdAt = timeOf(raw.CreatedTime)
    const uid = raw.LaunchConfigurationARN ?? id
    return { id, uid, createdAt, tags: {}, raw, group: applicationOf(id), facts: { name: id } }
  },
  async use(evidence) {
    const users = new Map<string, string>()
    for (const { LaunchConfigurationName, AutoScalingGroupName, Instances = [] } of await evidence.groups())
      for (const name of [LaunchConfigurationName, ...Instances.map((instance) => instance.LaunchConfigurationName)])
        if (name) users.set(name, `auto-scaling group ${AutoScalingGroupName}`)
    return ({ LaunchConfigurationName: name = '' }) => (users.has(name) ? used(users.get(name) ?? '') : unusedByGroups)
  },
  remove: ({ sdk, autoScaling }, { LaunchConfigurationName }) =>
    autoScaling.send(new sdk.autoScaling.DeleteLaunchConfigurationCommand({ LaunchConfigurationName })),
})

/** Launch templates. In use when an auto-scaling group names them, overrides included, or an instance was started from them. */
export const launchTemplateType = defineType<LaunchTemplate>({
  name: 'launchTemplate',
  absent: [
    'InvalidLaunchTemplateId.NotFound',
    'InvalidLaunchTemplateName.NotFoundException',
    'InvalidLaunchTemplateId.NotFoundException',
  ],
  tag: tagEc2,
  all: ({ sdk, ec2: client, account }) =>
    listCompletely(
      { what: `launch templates of ${account}`, pageSize: 200, items: 'LaunchTemplates' },
      (pageSize: number) => sdk.ec2.paginateDescribeLaunchTemplates({ client, pageSize }, {}),
    ),
  one: async ({ sdk, ec2 }, id) =>
    (await ec2.send(new sdk.ec2.DescribeLaunchTemplatesCommand({ LaunchTemplateIds: [id] }))).LaunchTemplates?.[0],
  describe(raw) {
    const { LaunchTemplateId: id = '', LaunchTemplateName: name } = raw
    const createdAt = timeOf(raw.CreateTime)
    return { id, uid: id, createdAt, tags: tagsOf(raw.Tags), raw, group: applicationOf(name), facts: { name } }
  },
  async use(evidence) {
    const users = new Map<string, string>()
    for (const group of await evidence.groups())
      for (const { LaunchTemplateId, LaunchTemplateName } of templatesOf(group))
        for (const name of [LaunchTemplateId, LaunchTemplateName])
          if (name) users.set(name, `auto-scaling group ${group.AutoScalingGroupName}`)
    for (const { InstanceId, Tags } of await evidence.instances()) {
      const template = tagsOf(Tags)['aws:ec2launchtemplate:id']
      if (template) users.set(template, `instance ${InstanceId}`)
    }
    return ({ LaunchTemplateId = '', LaunchTemplateName = '' }) => {
      const by = users.get(LaunchTemplateId) ?? users.get(LaunchTemplateName)
      return by === undefined ? unusedByGroups : used(by)
    }
  },
  remove: ({ sdk, ec2 }, { LaunchTemplateId }) =>
    ec2.send(new sdk.ec2.DeleteLaunchTemplateCommand({ LaunchTemplateId })),
})
