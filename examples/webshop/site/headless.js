// The shop without pages.
shop.run(async () => {
  await shop.begin();
  await shop.pay(1299);
  await shop.pay(0);
  await shop.log('title: ' + await signalbox.call('title', {}));
});
