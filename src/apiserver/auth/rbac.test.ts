import { describe, expect, it } from 'vitest'
import type { Access } from './access.ts'
import { authorize, rulesOf, type Binding, type RoleSource } from './rbac.ts'
import { describeRule, ruleAllows, uncovered, type PolicyRule } from './rbac-rules.ts'
import type { User } from './user.ts'

const readPods: PolicyRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] }

function access(overrides: Partial<Extract<Access, { resource: string }>> = {}): Access {
  return { verb: 'get', group: '', resource: 'pods', subresource: '', namespace: 'n', name: 'p', ...overrides }
}

function source(options: { cluster?: Binding[]; local?: Binding[]; rules?: Record<string, PolicyRule[]> }): RoleSource {
  return {
    clusterRoleBindings: () => options.cluster ?? [],
    roleBindings: (namespace) => (options.local ?? []).filter((binding) => binding.namespace === namespace),
    rules: (namespace, name) => options.rules?.[`${namespace}/${name}`],
  }
}

function binding(overrides: Partial<Binding> = {}): Binding {
  return {
    name: 'b',
    namespace: '',
    roleRef: { kind: 'ClusterRole', name: 'reader' },
    subjects: [{ kind: 'User', name: 'bob' }],
    ...overrides,
  }
}

const bob: User = { name: 'bob', groups: ['devs'] }
const rules = { '/reader': [readPods] }

describe('ruleAllows', () => {
  it.each<[string, PolicyRule, Access, boolean]>([
    ['the verb and resource it names', readPods, access(), true],
    ['no other verb', readPods, access({ verb: 'delete' }), false],
    ['no other group', readPods, access({ group: 'apps' }), false],
    ['no subresource it does not name', readPods, access({ subresource: 'log' }), false],
    ['a subresource by name', { ...readPods, resources: ['pods/log'] }, access({ subresource: 'log' }), true],
    ['a subresource of everything', { ...readPods, resources: ['*/log'] }, access({ subresource: 'log' }), true],
    ['*/log does not mean the resource itself', { ...readPods, resources: ['*/log'] }, access(), false],
    ['everything by stars', { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }, access({ subresource: 'log' }), true],
    ['only the names it lists', { ...readPods, resourceNames: ['q'] }, access(), false],
    ['a name it lists', { ...readPods, resourceNames: ['q', 'p'] }, access(), true],
    ['a list never by names', { ...readPods, resourceNames: ['p'] }, access({ verb: 'list', name: '' }), false],
    ['a path', { verbs: ['get'], nonResourceURLs: ['/metrics'] }, { verb: 'get', path: '/metrics' }, true],
    ['paths below a prefix', { verbs: ['get'], nonResourceURLs: ['/apis/*'] }, { verb: 'get', path: '/apis/x' }, true],
    [
      'no path by a resource rule',
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      { verb: 'get', path: '/x' },
      false,
    ],
  ])('allows %s', (_, rule, wanted, expected) => expect(ruleAllows(rule, wanted)).toBe(expected))
})

describe('authorize', () => {
  it('allows masters everything, regardless of roles', () => {
    expect(authorize(source({}), { name: 'root', groups: ['system:masters'] }, access()).allowed).toBe(true)
  })

  it('allows in every namespace what a ClusterRoleBinding grants, and says by which', () => {
    const verdict = authorize(source({ cluster: [binding()], rules }), bob, access())
    expect(verdict).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to User "bob"',
    })
  })

  it('allows only in its own namespace what a RoleBinding grants', () => {
    const roles = source({ local: [binding({ namespace: 'n' })], rules })
    expect(authorize(roles, bob, access()).allowed).toBe(true)
    expect(authorize(roles, bob, access({ namespace: 'other' })).allowed).toBe(false)
    expect(authorize(roles, bob, access({ namespace: '' })).allowed).toBe(false)
  })

  it.each([
    ['a group', { kind: 'Group', name: 'devs' }, bob],
    [
      'a ServiceAccount',
      { kind: 'ServiceAccount', name: 'a', namespace: 'x' },
      { name: 'system:serviceaccount:x:a', groups: [] },
    ],
  ])('knows %s', (_, subject, user) => {
    expect(authorize(source({ cluster: [binding({ subjects: [subject] })], rules }), user, access()).allowed).toBe(true)
  })

  it('does not take a ServiceAccount for its namesake elsewhere', () => {
    const roles = source({
      cluster: [binding({ subjects: [{ kind: 'ServiceAccount', name: 'a', namespace: 'x' }] })],
      rules,
    })
    expect(authorize(roles, { name: 'system:serviceaccount:y:a', groups: [] }, access()).allowed).toBe(false)
  })

  it('says which role is missing', () => {
    expect(authorize(source({ cluster: [binding()] }), bob, access())).toEqual({
      allowed: false,
      reason: 'RBAC: clusterrole.rbac.authorization.k8s.io "reader" not found',
    })
  })

  it('lists the rules that hold in a namespace', () => {
    const roles = source({ local: [binding({ namespace: 'n' })], rules })
    expect(rulesOf(roles, bob, 'n')).toEqual([readPods])
    expect(rulesOf(roles, bob, 'other')).toEqual([])
  })
})

describe('uncovered', () => {
  it.each<[string, PolicyRule[], PolicyRule[], number]>([
    ['nothing of what is held', [readPods], [readPods], 0],
    ['each verb that is not', [readPods], [{ ...readPods, verbs: ['get', 'delete', 'watch'] }], 2],
    ['a star unless a star is held', [readPods], [{ ...readPods, verbs: ['*'] }], 1],
    ['all names when only one is held', [{ ...readPods, resourceNames: ['a'] }], [readPods], 2],
    ['nothing when all names are held', [readPods], [{ ...readPods, resourceNames: ['a'] }], 0],
    ['a path that is not held', [], [{ verbs: ['get'], nonResourceURLs: ['/x'] }], 1],
  ])('finds %s', (_, held, wanted, count) => expect(uncovered(held, wanted)).toHaveLength(count))

  it('gives up on rules whose lists multiply, instead of looking at each combination', () => {
    const many = (prefix: string) => Array.from({ length: 3000 }, (_, index) => `${prefix}${index}`)
    const product = { apiGroups: many('g'), resources: many('r'), verbs: many('v') }
    expect(uncovered([readPods], [product])).toBeUndefined()
    expect(uncovered([product], [product])).toEqual([])
    const both = { ...readPods, nonResourceURLs: ['/x'] }
    expect(uncovered([{ verbs: ['*'], nonResourceURLs: ['*'] }], [both])).toHaveLength(2)
    const held = Array.from({ length: 10_000 }, (_, index) => ({ ...readPods, resourceNames: [`n${index}`] }))
    expect(uncovered(held, [...held, product])).toBeUndefined()
  })

  it('describes a rule as the API does', () => {
    expect(describeRule(readPods)).toBe('{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}')
  })
})
