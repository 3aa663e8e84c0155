shop.run(async () => {
  await shop.begin();
  await signalbox.call('picture', {});
  await shop.log('title: ' + await signalbox.call('title', {}));
  const elsewhere = ['/', '/product/42', '/shop/7', 'shop://card/silver', '/about', '/sign_out', 'https://elsewhere.example/'];
  for (const url of elsewhere) await visit(url);
});
