import type { LaunchConfiguration } from '@aws-sdk/client-auto-scaling'
import type { LaunchTemplate } from '@aws-sdk/client-ec2'
import { applicationOf, tagsOf, timeOf, type AwsResource, type AwsType } from '../read/aws-type.ts'
import { tagEc2 } from '../read/ec2-tags.ts'
import { Evidence, templatesOf } from '../read/evidence.ts'
import { listCompletely } from '../read/listing.ts'

const unusedByGroups = { state: 'unused', because: 'no auto-scaling group uses it' } as const

/** Launch configurations. In use when an auto-scaling group names them, or one of its instances was started from them. */
export const launchConfigurationType: AwsType = {
  name: 'launchConfiguration',
  absent: [],

  async list(session) {
    return (await new Evidence(session, async () => [session]).launchConfigurations()).map(configurationResource)
  },

  async read({ sdk, autoScaling }, id) {
    const { LaunchConfigurations = [] } = await autoScaling.send(
      new sdk.autoScaling.DescribeLaunchConfigurationsCommand({ LaunchConfigurationNames: [id] }),
    )
    return LaunchConfigurations[0] && configurationResource(LaunchConfigurations[0])
  },

  async detect(evidence) {
    const used = new Map<string, string>()
    for (const { LaunchConfigurationName, AutoScalingGroupName, Instances = [] } of await evidence.groups())
      for (const name of [LaunchConfigurationName, ...Instances.map((instance) => instance.LaunchConfigurationName)])
        if (name) used.set(name, `auto-scaling group ${AutoScalingGroupName}`)
    return ({ id }) => (used.has(id) ? { state: 'used', by: used.get(id) ?? '' } : unusedByGroups)
  },

  async remove({ sdk, autoScaling }, { id }) {
    await autoScaling.send(new sdk.autoScaling.DeleteLaunchConfigurationCommand({ LaunchConfigurationName: id }))
  },
}

/** Launch templates. In use when an auto-scaling group names them, overrides included, or an instance was started from them. */
export const launchTemplateType: AwsType = {
  name: 'launchTemplate',
  absent: [
    'InvalidLaunchTemplateId.NotFound',
    'InvalidLaunchTemplateName.NotFoundException',
    'InvalidLaunchTemplateId.NotFoundException',
  ],

  async list({ sdk, ec2: client, account }) {
    const templates = await listCompletely({
      what: `launch templates of ${account}`,
      pageSize: 200,
      pages: (pageSize) => sdk.ec2.paginateDescribeLaunchTemplates({ client, pageSize }, {}),
      items: ({ LaunchTemplates }) => LaunchTemplates,
    })
    return templates.map(templateResource)
  },

  async read({ sdk, ec2 }, id) {
    const { LaunchTemplates = [] } = await ec2.send(
      new sdk.ec2.DescribeLaunchTemplatesCommand({ LaunchTemplateIds: [id] }),
    )
    return LaunchTemplates[0] && templateResource(LaunchTemplates[0])
  },

  async detect(evidence) {
    const used = new Map<string, string>()
    for (const group of await evidence.groups())
      for (const { LaunchTemplateId, LaunchTemplateName } of templatesOf(group))
        for (const name of [LaunchTemplateId, LaunchTemplateName])
          if (name) used.set(name, `auto-scaling group ${group.AutoScalingGroupName}`)
    for (const { InstanceId, Tags } of await evidence.instances()) {
      const template = tagsOf(Tags)['aws:ec2launchtemplate:id']
      if (template) used.set(template, `instance ${InstanceId}`)
    }
    return ({ id, raw }) => {
      const by = used.get(id) ?? used.get((raw as LaunchTemplate).LaunchTemplateName ?? '')
      return by === undefined ? unusedByGroups : { state: 'used', by }
    }
  },

  async remove({ sdk, ec2 }, { id }) {
    await ec2.send(new sdk.ec2.DeleteLaunchTemplateCommand({ LaunchTemplateId: id }))
  },

  tag: tagEc2,
}

function configurationResource(configuration: LaunchConfiguration): AwsResource {
  const id = configuration.LaunchConfigurationName ?? ''
  return {
    id,
    uid: configuration.LaunchConfigurationARN ?? id,
    createdAt: timeOf(configuration.CreatedTime),
    tags: {},
    raw: configuration,
    group: applicationOf(id),
    facts: { name: id },
  }
}

function templateResource(template: LaunchTemplate): AwsResource {
  const id = template.LaunchTemplateId ?? ''
  return {
    id,
    uid: id,
    createdAt: timeOf(template.CreateTime),
    tags: tagsOf(template.Tags),
    raw: template,
    group: applicationOf(template.LaunchTemplateName),
    facts: { name: template.LaunchTemplateName },
  }
}
