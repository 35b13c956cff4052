// Addresses and names that an application hands in: what is taken, and what a mistake is told.
import { describe, expect, test } from 'vitest'
import { checkAddresses } from '../../endpoints/address.ts'
import { checkAllowed, checkName, checkSender } from '../../endpoints/name.ts'

const PEER = '12D3KooWK6Ef7YQ9GYshz1x8Z8S1Jk9RKKzoYhdApHtf3GKN3rTY'

describe('an address', () => {
  test.each([
    '/ip4/0.0.0.0/tcp/0',
    '/ip4/255.255.255.255/tcp/65535',
    '/ip6/::/tcp/4600',
    '/ip6/::ffff:10.0.0.1/tcp/4600/ws',
    '/ip4/127.0.0.1/tcp/443/tls/ws',
  ])('%s is one to listen on and to dial', (address) => {
    checkAddresses('listen', [address])
    checkAddresses('dial', [address, `${address}/p2p/${PEER}`])
  })

  test.each([
    '/dns4/example.org/tcp/4600',
    '/dns/example.org/tcp/443/wss',
    `/dnsaddr/example.org/p2p/${PEER}`,
  ])('%s is one to dial only', (address) => {
    checkAddresses('dial', [address])
    expect(() => checkAddresses('listen', [address])).toThrow(/to listen on/)
  })

  test.each([
    '',
    '/',
    'ip4/127.0.0.1/tcp/1',
    '/ip4/127.0.0.1',
    '/ip4/127.0.0.1/udp/1',
    '/ip4/127.0.0.1/tcp/65536',
    '/ip4/127.0.0.256/tcp/1',
    '/ip4/127.0.1/tcp/1',
    '/ip6/10.0.0.1/tcp/1',
    '/ip4/127.0.0.1/tcp/1/p2p/12D3KooW',
    '/ip4/127.0.0.1/tcp/1/quic',
    '/ip4/127.0.0.1/tcp/1\n',
  ])('%j is none', (address) => {
    for (const use of ['listen', 'dial'] as const)
      expect(() => checkAddresses(use, [address])).toThrow(
        expect.objectContaining({ code: 'ADDRESS_INVALID', message: expect.stringContaining('like /ip4/') }),
      )
  })

  test.each([
    ['/ip4/127.0.0.1/udp/1', 'expected /tcp and a port after the host'],
    ['/ip4/127.0.0.1', 'expected /tcp and a port after the host'],
    ['/ip4/127.0.0.1/tcp/65536', 'expected a port up to 65535 after /tcp, got "65536"'],
    ['/ip4/127.0.0.256/tcp/1', '"127.0.0.256" is no address of /ip4'],
    ['/ip4/127.0.0.1/tcp/1/p2p/12D3KooWxxx', '"12D3KooWxxx" after /p2p/ is no peer id'],
    [`/ip4/127.0.0.1/tcp/1/p2p/${PEER}x`, 'after /p2p/ is no peer id'],
    ['/dnsaddr/example.org/p2p/me', '"me" after /p2p/ is no peer id'],
    ['/ip4/127.0.0.1/tcp/1/quic', 'expected nothing after the port but /ws and /p2p/'],
    ['/unix/a', 'expected it to begin with /ip4, /ip6, /dns'],
  ])('of %s it is said that %s', (address, wrong) => {
    const message = new RegExp(`, got "${address}": .*${wrong}`)
    expect(() => checkAddresses('dial', [address])).toThrow(message)
  })

  test.each([
    ['localhost:4600', '/ip4/127.0.0.1/tcp/4600'],
    [':4600', '/ip4/127.0.0.1/tcp/4600'],
    ['http://10.0.0.1:80/', '/ip4/10.0.0.1/tcp/80'],
    ['[::1]:46', '/ip6/::1/tcp/46'],
    ['example.org:46', '/dns4/example.org/tcp/46'],
  ])('%s was meant to be %s', (address, meant) => {
    expect(() => checkAddresses('dial', [address])).toThrow(`(did you mean "${meant}"?)`)
  })
})

describe('a name', () => {
  test('of up to 256 characters is one', () => {
    for (const name of ['a', 'ward 7, bed ü', 'x'.repeat(256)]) checkName(name)
  })

  test.each(['', 'x'.repeat(257), '\ud800'])('%j is none', (name) => {
    expect(() => checkName(name)).toThrow(expect.objectContaining({ code: 'NAME_INVALID' }))
  })

  test('is no ID, neither of a sender nor of a client', () => {
    for (const check of [() => checkSender('pulse'), () => checkAllowed(['ab'.repeat(32), 'me'])])
      expect(check).toThrow(expect.objectContaining({ code: 'NAME_INVALID' }))
    checkSender('ab'.repeat(32))
    checkAllowed(['ab'.repeat(32)])
  })
})
