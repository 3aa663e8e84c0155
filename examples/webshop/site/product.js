addEventListener('load', () => setTimeout(() => shop.run(async () => {
  await shop.log('viewport: ' + document.querySelector('meta[name=viewport]')?.content);
  await shop.log('title: ' + await signalbox.call('title', {}));
  await shop.log('user agent ends with WebShop: ' + navigator.userAgent.endsWith(' WebShop/1.0'));
})));
