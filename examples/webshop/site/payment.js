shop.run(async () => {
  await shop.pay(1299);
  await shop.pay(0);
  await visit('/verify?code=4711');
  await shop.log('handlers: ' + ('user' in webkit.messageHandlers ? 'page and user' : 'page'));
});
